import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files; most of their time is waiting for processes. If they began last, they would run alone at the end.
 */
const first = [
  'archive/hostile',
  'archive/simulation',
  'governance/evidence',
  'outages',
  'dashboard',
  'start',
  'schedule/daemon',
  'rotate-faults',
  'rotate-kills',
  'apply-faults',
  'replicas',
];

/** Orders test files: the slowest first, then in vitest's order. */
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
