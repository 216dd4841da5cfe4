import { countOf } from '@keywarden/core/values';
import type { Applied } from '../enforce/apply.ts';
import { joined } from './output.ts';
import { renderTable } from './table.ts';

/** Returns the result of applying a plan, for machines. */
export function appliedToJson({ items, doneBefore, untried, stopped }: Applied) {
  return {
    changed: countRevoked(items),
    done_before: doneBefore,
    untried,
    stopped,
    items: items.map(({ item, outcome, why, usedInFlight }) => ({
      key: { scope: item.key.scope, id: item.key.id, name: item.key.name },
      outcome,
      why,
      used_in_flight: usedInFlight,
    })),
  };
}

/** Returns the same result for people. */
export function renderApplied({ items, untried, stopped }: Applied): string {
  if (items.length === 0 && stopped === null)
    return 'Nothing was revoked. The keys that this plan flags no longer count toward breakers.';
  const rows = items.map(({ item, outcome, why }) => [item.key.id, item.key.kind, item.key.name, outcome, why ?? '']);
  const revoked = countRevoked(items);
  return joined([
    `${renderTable(['KEY', 'KIND', 'NAME', 'OUTCOME', 'WHY'], rows)}\n`,
    `${countOf(revoked, 'key')} revoked, ${items.length - revoked} not${untried > 0 ? `, ${untried} not tried` : ''}.`,
    stopped !== null && `The run was stopped: ${stopped}.`,
  ]);
}

const countRevoked = (items: Applied['items']) => items.filter(({ outcome }) => outcome === 'revoked').length;
