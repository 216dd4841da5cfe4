import { createLateness, type ProvenEvent } from '@keywarden/core/ledger';
import { addSentence, type Verdict } from './verdict.ts';

/** An event with its place in the ledger. */
type PlacedEvent = Pick<ProvenEvent, 'index' | 'type' | 'subject' | 'at' | 'recorded'>;

/**
 * Collects events that were not recorded at the time of their rows, in the order of the ledger. The rows that a store already had when its ledger began are only
 * counted: they come before its first migration.
 */
export function createLateTimes() {
  const isLate = createLateness();
  const late: PlacedEvent[] = [];
  let before = 0;
  let hasBegun = false;
  return {
    read(event: PlacedEvent): void {
      const isThisLate = isLate(event);
      if (event.type === 'store.migrated' && !hasBegun) {
        hasBegun = true;
        before = late.splice(0).length;
      }
      if (isThisLate) late.push(event);
    },
    addConclusions({ unproven }: Verdict): void {
      if (before > 0)
        addSentence(unproven, `the times of ${before} rows that the store already had when its ledger began`);
      for (const { index, type, subject, at, recorded } of late)
        addSentence(
          unproven,
          `the time of ${subject}: ${at}, because the ledger recorded its ${type} at ${recorded}, as event ${index}`,
        );
    },
  };
}
