/** Runs what it is given one after the other, in the order in which it was given. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  run<Answer>(job: () => Promise<Answer>): Promise<Answer> {
    const mine = this.#last.then(job, job);
    this.#last = mine.catch(() => undefined); // the caller is told; the next one does not care
    return mine;
  }
}
