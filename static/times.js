// Updates relative times. The words are those of formatting.age on the server.

(() => {
  const UNITS = [
    [31_536_000, "year"],
    [2_592_000, "month"],
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
    [1, "second"],
  ];

  function age(seconds) {
    const distance = Math.floor(Math.abs(seconds));
    if (distance < 1) return "now";
    const [length, unit] = UNITS.find(([length]) => distance >= length);
    const count = Math.floor(distance / length);
    const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
    return seconds > 0 ? `${words} ago` : `in ${words}`;
  }

  function refresh() {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time.moment")) {
      let seconds = (Date.now() - Date.parse(time.dateTime)) / 1_000;
      // A past time stays in the past, even if the visitor's clock is slow.
      if (!time.textContent.startsWith("in ")) seconds = Math.max(seconds, 0);
      const words = seconds > 0 && time.dataset.past ? time.dataset.past : age(seconds);
      if (time.textContent !== words) time.textContent = words;
    }
  }

  setInterval(refresh, 1_000);
  document.addEventListener("visibilitychange", refresh);
})();
