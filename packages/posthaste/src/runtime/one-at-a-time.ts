/** Runs functions one after the other, in the order of the calls. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  run<Answer>(job: () => Promise<Answer>): Promise<Answer> {
    const mine = this.#last.then(job, job);
    this.#last = mine.catch(() => undefined); // the caller gets the error; the next call starts all the same
    return mine;
  }
}
