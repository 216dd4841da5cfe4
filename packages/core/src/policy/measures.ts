import type { Condition } from './condition-schema.ts';
import { compile, isUnknown } from './conditions.ts';
import { inWords } from './explain.ts';
import { type KeyFacts, nothingOfScope } from './facts.ts';
import { dormant, lasting } from './presets.ts';
import { toTimedKey } from './timed-key.ts';

/** What evidence and lists measure of keys. Each is a condition of rules, so that evidence and plans agree. */
export type Measured = { of: 'idle' | 'old'; days: number } | { of: 'orphaned' | 'expired' };

/** The result for one key: whether it holds, and why it does or why that is unknown. */
export type Assessment = { result: 'yes' | 'unknown'; because: string } | { result: 'no' };

function conditionOf(measured: Measured): Condition {
  switch (measured.of) {
    case 'idle':
      return dormant(`${measured.days}d`);
    case 'old':
      return { older_than: lasting(`${measured.days}d`) };
    case 'orphaned':
      return { creator_left: true };
    case 'expired':
      return { expires_within: { ms: 0, text: '0d' } };
    default:
      return measured satisfies never;
  }
}

/** Returns the function that assesses a key by its facts at a time, in ms since 1970. */
export function assessor(measured: Measured, nowMs: number): (key: KeyFacts) => Assessment {
  const test = compile(conditionOf(measured), () => () => undefined);
  return (key) => {
    // The conditions look at the key alone.
    const scope = { ...nothingOfScope, scope: key.scope };
    const result = test(toTimedKey(key, { scope, nowMs, index: 0 }));
    if (result === false) return { result: 'no' };
    if (isUnknown(result)) return { result: 'unknown', because: result.unknown };
    return { result: 'yes', because: inWords(result, { nowMs, creatorName: key.creatorName }) };
  };
}
