/** Every option of a worker as a flag and an environment variable, made from the table of options. */
import { Option } from "commander";
import { defaultInWords, rangeInWords, type Field } from "../config/field.ts";
import { flagOf, variableOf, workerFields } from "../config/worker-options-fields.ts";
import { names, numberByName, oneOf, trueOrFalse, wholeNumber } from "./option-values.ts";

const shortFlags: Readonly<Record<string, string>> = {
  concurrency: "-c",
  queues: "-q",
  name: "-n",
};

export function workerFlags(): Option[] {
  return Object.entries(workerFields).map(([name, field]) => {
    const short = shortFlags[name] === undefined ? "" : `${shortFlags[name]}, `;
    const { placeholder, addTo } = flagOfKind(field);
    return new Option(`${short}${flagOf(name)} <${placeholder}>`, describe(field))
      .env(variableOf(name))
      .argParser(addTo);
  });
}

function describe(field: Field): string {
  const range = rangeInWords(field);
  const meaning = field.meaning.charAt(0).toLowerCase() + field.meaning.slice(1);
  const facts = [...(range === undefined ? [] : [range]), `default: ${defaultInWords(field)}`];
  return `${meaning} (${facts.join("; ")})`;
}

/** How a kind of option is written, and how a repeated flag is combined with earlier ones. */
function flagOfKind(field: Field): {
  readonly placeholder: string;
  readonly addTo: (text: string, before: unknown) => unknown;
} {
  switch (field.kind) {
    case "whole number":
      return { placeholder: "n", addTo: (text) => wholeNumber(text, field) };
    case "choice":
      return { placeholder: "word", addTo: (text) => oneOf(text, field.choices) };
    case "names":
    case "queue names":
      return {
        placeholder: "names...",
        addTo: (text, before) => names(text, before as string[] | undefined),
      };
    case "number by queue":
      return {
        placeholder: "queue=n,...",
        addTo: (text, before) =>
          numberByName(text, field, before as Record<string, number> | undefined),
      };
    case "flag":
      return { placeholder: "true|false", addTo: (text) => trueOrFalse(text) };
    case "text":
    case "special":
      return { placeholder: field.kind, addTo: (text) => text };
  }
}
