/** A law that holds after anything. */
export interface Law {
  /** What must be so. */
  readonly says: string;
  /** A statement that finds what is not so: task (text), seq of the journal (or null), detail (text). */
  readonly broken: string;
}

export interface Violation {
  readonly law: string;
  readonly task: string;
  readonly seq: number | null;
  readonly detail: string;
}
