// Updates relative times and running durations. The words are those of formatting.age,
// formatting.countdown and formatting.precise_duration on the server.

(() => {
  const UNITS = [
    [31_536_000, "year"],
    [2_592_000, "month"],
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
    [1, "second"],
  ];
  const PRECISE_SECONDS = 10; // shorter durations have a decimal
  const [HOUR, PRECISE_DAYS] = [3_600, 5 * 86_400]; // countdowns between them have minutes

  function age(seconds) {
    const distance = Math.floor(Math.abs(seconds));
    if (distance < 1) return "now";
    const [length, unit] = UNITS.find(([length]) => distance >= length);
    const count = Math.floor(distance / length);
    const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
    return seconds > 0 ? `${words} ago` : `in ${words}`;
  }

  function preciseDuration(seconds) {
    if (seconds < 0.05) return "<0.1 s";
    if (seconds < PRECISE_SECONDS) return `${seconds.toFixed(1)} s`;
    const whole = Math.floor(seconds);
    const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor((whole % 3_600) / 60)];
    if (hours) return `${hours.toLocaleString("en")} h ${minutes} min`;
    return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
  }

  // Counted from when the page showed them: the visitor's clock may be wrong.
  const starts = new WeakMap();
  function secondsSoFar(time) {
    const known = starts.get(time);
    if (known?.duration !== time.dateTime) {
      const seconds = Number.parseFloat(time.dateTime.slice(2)); // such as PT243.2S
      starts.set(time, { duration: time.dateTime, start: performance.now() / 1_000 - seconds });
    }
    return performance.now() / 1_000 - starts.get(time).start;
  }

  function refresh() {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time.moment")) {
      let seconds = (Date.now() - Date.parse(time.dateTime)) / 1_000;
      // A past time stays in the past, even if the visitor's clock is slow.
      if (!time.textContent.startsWith("in ")) seconds = Math.max(seconds, 0);
      let words = age(seconds);
      if (time.dataset.past && seconds > 0) words = time.dataset.past;
      if (time.dataset.past && -seconds >= HOUR && -seconds < PRECISE_DAYS) {
        words = `in ${preciseDuration(-seconds)}`;
      }
      if (time.textContent !== words) time.textContent = words;
    }
    for (const time of document.querySelectorAll("time.elapsed")) {
      const words = preciseDuration(secondsSoFar(time));
      if (time.textContent !== words) time.textContent = words;
    }
  }

  setInterval(refresh, 1_000);
  document.addEventListener("visibilitychange", refresh);
  refresh();
})();
