/**
 * Completes package-lock.json after `npm install`. npm leaves out builds for other platforms that the registry cannot give
 * at that moment, and `npm ci` then refuses the file. Nothing is fetched for a platform that is not this one, so an entry
 * that names version and platform is enough. Run with a folder to complete another lockfile.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Entry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

const file = `${process.argv[2] ?? "."}/package-lock.json`;
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> };

for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const nested = path === "" ? `node_modules/${name}` : `${path}/node_modules/${name}`;
    const shared = `node_modules/${name}`;
    if (lock.packages[nested] !== undefined || lock.packages[shared] !== undefined) continue;
    if (!/^\d/.test(version)) continue; // a range: npm has decided on it, or it is not needed
    lock.packages[shared] = {
      version,
      ...(dev ? { dev } : {}),
      optional: true,
      ...platformOf(name),
    };
    console.log(`added ${name} ${version}`);
  }
}

const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
writeFileSync(
  file,
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, undefined, 2)}\n`,
);

/** `…binding-linux-x64-musl`: such packages are named after where they run. */
function platformOf(name: string): Pick<Entry, "os" | "cpu" | "libc"> {
  const words = name.split(/[/-]/);
  const pick = (known: readonly string[]): string[] => known.filter((word) => words.includes(word));
  const os = pick([
    "android",
    "darwin",
    "freebsd",
    "linux",
    "netbsd",
    "openbsd",
    "openharmony",
    "sunos",
    "aix",
    "win32",
  ]);
  const cpu = pick([
    "arm64",
    "arm",
    "ia32",
    "loong64",
    "mips64el",
    "ppc64",
    "riscv64",
    "s390x",
    "wasm32",
    "x64",
  ]);
  if (os.length === 0 && cpu.length === 0) throw new Error(`cannot tell where ${name} runs`);
  const libc = words.some((word) => word.startsWith("musl"))
    ? ["musl"]
    : words.some((word) => word.startsWith("gnu"))
      ? ["glibc"]
      : [];
  return {
    ...(os.length > 0 ? { os } : {}),
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(libc.length > 0 ? { libc } : {}),
  };
}
