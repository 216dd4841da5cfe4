import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, most of it waiting for processes. Begun last, they would run alone at the end. */
const first = ['outages', 'dashboard', 'start', 'schedule/daemon', 'rotate-faults', 'rotate-kills', 'replicas'];

/** The order of files: the longest first, then as vitest has it. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = first.findIndex((name) => moduleId.includes(`/${name}.`));
      return rank === -1 ? first.length : rank;
    };
    const usual = await BaseSequencer.prototype.sort.call(this, files);
    return usual.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
