import { assessor, type KeyFacts, type Measured } from '@keywarden/core/policy';
import { credentialKinds } from '@keywarden/core/wire';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { List } from '../list.ts';
import type { Snapshot } from '../snapshot.ts';
import { credentialItem, inventoryList, keyItem } from './list.ts';
import { creatorState, type InventoryKind } from './source.ts';

const because = z.string().meta({ description: 'Why the key is listed: the value and its limit, or what is unknown' });

/** A key or another credential, and why it is an exception or could not be assessed. */
export const assessedItems = {
  keys: keyItem.extend({ because }),
  credentials: credentialItem.extend({ because }),
} as const;

const judgedFacts = z.object({ creation_known: z.boolean(), creator_state: z.enum(['member', 'left', 'unknown']) });

const anyItem = credentialItem
  .extend({ kind: z.enum(credentialKinds) })
  .partial({ branch_id: true, holder: true, expires_at: true, detail: true });

/** Items as JSON texts: those for which a measure holds, and those for which that is unknown. */
export interface Assessed {
  exceptions: string[];
  unknown: { item: string; because: string }[];
}

/** Assesses all keys or credentials that existed at a time by the conditions of policies. For one that may have gone, they are unknown. */
export async function* assess(
  snapshot: Snapshot,
  { of, measured, asOf }: { of: InventoryKind; measured: Measured; asOf: string },
): AsyncGenerator<Assessed> {
  const test = assessor(measured, Date.parse(asOf));
  const list: List = inventoryList(of, { asOf, isThere: true }, { organizations: null });
  const facts = sql`json_build_object('creation_known', k.creation_known, 'creator_state', ${creatorState(sql`${asOf}::timestamptz`)})`;
  for await (const items of snapshot.stream({ ...list, item: { ...list.item, facts } })) {
    const assessed: Assessed = { exceptions: [], unknown: [] };
    for (const text of items) {
      const { facts: judged, ...item } = JSON.parse(text) as Record<string, unknown>;
      const known = anyItem.parse(item);
      const assessment = test(toFacts(known, judgedFacts.parse(judged)));
      if (assessment.result !== 'no') add(assessed, { item, state: known.state, ...assessment });
    }
    yield assessed;
  }
}

/** Lists keys that a control does not allow. For a key that may have gone before, that is unknown. */
export async function* judgeListed(snapshot: Snapshot, list: List, because: string): AsyncGenerator<Assessed> {
  for await (const items of snapshot.stream(list)) {
    const assessed: Assessed = { exceptions: [], unknown: [] };
    for (const text of items) {
      const item = JSON.parse(text) as Record<string, unknown>;
      add(assessed, { item, state: stateOf.parse(item).state, result: 'yes', because });
    }
    yield assessed;
  }
}

const stateOf = z.object({ state: keyItem.shape.state });

/** Adds a key. What holds for a key that may not have existed any more is unknown. */
function add(
  assessed: Assessed,
  {
    item,
    state,
    result,
    because,
  }: { item: object; state: z.output<typeof stateOf>['state']; result: 'yes' | 'unknown'; because: string },
): void {
  const why = result === 'yes' && state !== 'active' ? 'it is unknown whether it still existed' : because;
  const row = JSON.stringify({ ...item, because: why });
  if (result === 'yes' && state === 'active') assessed.exceptions.push(row);
  else assessed.unknown.push({ item: row, because: why });
}

function toFacts(item: z.output<typeof anyItem>, judged: z.output<typeof judgedFacts>): KeyFacts {
  const { number, scope, id, kind, name, creator, owner, use, last_used_at: at, last_used_from: from } = item;
  return {
    number,
    scope,
    id,
    kind,
    name,
    owner,
    organizationId: item.organization_id,
    projectId: item.project_id,
    creatorId: creator.id,
    creatorName: creator.name,
    creator: judged.creator_state,
    createdAt: item.created_at ?? '',
    ...(item.expires_at == null ? {} : { expiresAt: item.expires_at }),
    ...(judged.creation_known ? {} : { isCreationUnknown: true }),
    use:
      use === 'used'
        ? { state: use, at: at ?? '', from }
        : use === 'never'
          ? { state: use }
          : { state: use, unobserved: { since: at } },
    presentSince: item.first_seen_at,
    firstSeenAt: item.first_seen_at,
    exemptions: [],
    announcements: [],
    isAcknowledged: false,
    hasFailedLately: false,
  };
}
