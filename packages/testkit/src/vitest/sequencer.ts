import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest test files of both suites. If they began last, they would run alone at the end. */
const first = [
  'archive/hostile',
  'replicas',
  'every-page',
  'dashboard',
  'archive/simulation',
  'sequencer',
  'governance/evidence',
  'writer-kills',
  'src/hostile',
  'measures',
  'other-readers',
  'ledger/kills',
  'start',
  'rotate-faults',
  'rotate-kills',
  'outages',
  'schedule/daemon',
  'command-sink',
  'triggers',
  'ledger-packs',
  'command-line',
  'command-output',
  'evidence-archives',
  'ledger/events',
  'notices',
  'rotate/secrets',
  'bad-input',
  'apply-faults',
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
