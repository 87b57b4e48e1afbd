// Unpacks the Chromium of `@sparticuz/chromium` for tests of pages, with the libraries and fonts
// that a machine without a desktop lacks. It is built for one platform; others install their own.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

if (`${process.platform}-${process.arch}` !== "linux-x64") process.exit();

const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const folder = `${modules}/.chromium`;
const unpack = (name) =>
  brotliDecompressSync(readFileSync(`${modules}/@sparticuz/chromium/bin/${name}.br`));
const write = (file, content) => writeFileSync(file, content, { mode: 0o755 });

mkdirSync(folder, { recursive: true });
for (const name of ["al2023.tar", "fonts.tar", "swiftshader.tar"])
  execFileSync("tar", ["-x", "-C", folder], { input: unpack(name) });
write(`${folder}/chromium`, unpack("chromium"));
write(
  `${folder}/fonts.conf`,
  `<fontconfig><dir>/usr/share/fonts</dir><dir>${folder}/fonts</dir></fontconfig>`,
);
write(
  `${modules}/.bin/chromium`,
  `#!/bin/sh
LD_LIBRARY_PATH='${folder}/lib' FONTCONFIG_FILE='${folder}/fonts.conf' exec '${folder}/chromium' "$@"
`,
);
