/**
 * Whether a bundler has moved this code. Workers start threads, and the embedded server a process, from files of this package: in a
 * bundle those files are missing, and a worker without its liveness thread would lose every long task.
 */

/** Undefined: this module is where the package has it. A sentence: why what needs the package's files cannot run. */
export function bundleProblem(): string | undefined {
  // In CommonJS bundles there is no import.meta.url, whatever its type says.
  const here: string | undefined = import.meta.url;
  if (here !== undefined && /\/domain\/bundled\.[jt]s(?:\?.*)?$/.test(here)) return undefined;
  return (
    "posthaste is part of a bundle and cannot find the files of its package there; mark posthaste and pg as external in the " +
    "bundler (esbuild: --external:posthaste --external:pg) and install them beside the bundle"
  );
}
