/** `npm run models`: a table of what was found. Exits with 1 if ours breaks somewhere, or if what must break holds. */
import { checkModels, isSpinInstalled, type Checked } from "./check-models.ts";

if (!isSpinInstalled()) {
  console.error("expected spin and gcc in the PATH: scripts/install-spin.sh installs them");
  process.exit(1);
}

const line = (model: string, name: string, rest: readonly string[]): string =>
  `${model.padEnd(11)}${name.padEnd(55)}${rest.map((cell) => cell.padStart(10)).join("")}`;

const startedAt = performance.now();
console.log(line("model", "variant", ["states", "expected", "found", "seconds"]));
const all = await checkModels(({ model, name, states, expected, found, seconds, broken }) => {
  const figures = [states.toLocaleString("en"), expected, found, seconds.toFixed(1)];
  console.log(`${line(model, name, figures)}  ${broken}`);
});

const wrong = all.filter(({ isAsExpected }) => !isAsExpected);
for (const { model, name, steps } of wrong.filter(isBroken))
  console.log(`\n${model}, ${name}: how it breaks\n${steps}`);
const states = all.reduce((sum, checked) => sum + checked.states, 0);
const seconds = (performance.now() - startedAt) / 1_000;
console.log(
  `${all.length} variants, ${states.toLocaleString("en")} states, ${seconds.toFixed(0)} s: ` +
    (wrong.length === 0 ? "all as expected" : `${wrong.length} not as expected`),
);
process.exitCode = wrong.length === 0 ? 0 : 1;

function isBroken({ found }: Checked): boolean {
  return found === "breaks";
}
