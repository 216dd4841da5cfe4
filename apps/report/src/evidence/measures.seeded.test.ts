import { assessor } from '@keywarden/core/policy';
import type { WireKey, WireMember } from '@keywarden/core/wire';
import { saveKeyListing, saveMembers, saveOrganizations } from '@keywarden/db/daemon';
import { assess, keyList, openSnapshot, readItems } from '@keywarden/db/report';
import { sized } from '@keywarden/testkit';
import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// Evidence against the truth: a company lives by its own calendar, is listed now and then, and evidence judges any time of it.

let store: TestStore;
let controlPlane: string;
let companies = 0;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  controlPlane = await makeControlPlane(store.sql);
});
afterAll(async () => await store.close());

const dayMs = 86_400_000;
const startMs = Date.parse('2026-01-01T00:00:00Z');
const at = (day: number) => new Date(startMs + day * dayMs).toISOString();

/** Times are days since the start. */
interface Company {
  keys: { created: number; uses: number[]; gone: number; creator: number }[];
  members: { joined: number; left: number }[];
  keyListings: number[];
  memberListings: number[];
  asOf: number;
}

const last = 200;
const time = fc.integer({ min: 0, max: last * 24 }).map((hours) => hours / 24);
const times = (maxLength: number) =>
  fc.array(time, { maxLength }).map((all) => [...new Set(all)].toSorted((a, b) => a - b));

const company: fc.Arbitrary<Company> = fc
  .record({
    keys: fc.array(
      fc.record({
        created: fc.integer({ min: -200, max: 100 }),
        uses: times(6),
        gone: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 101, max: last })),
        creator: fc.nat(4),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    members: fc.array(
      fc.record({
        joined: fc.integer({ min: -300, max: 50 }),
        left: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: -100, max: last })),
      }),
      { minLength: 5, maxLength: 5 },
    ),
    keyListings: times(12),
    memberListings: times(12),
    asOf: time,
    near: fc.integer({ min: -20, max: 20 }),
  })
  .map(({ near, ...made }) => ({
    ...made,
    // Often a few hours from a listing of the members, where evidence begins and ends. A sum of fractions of a day is not exactly a whole hour.
    asOf:
      near % 2 === 0 || made.memberListings.length === 0
        ? made.asOf
        : Math.round((made.memberListings[Math.abs(near) % made.memberListings.length] ?? 0) * 24 + near) / 24,
    keys: made.keys.map((key) => ({ ...key, uses: key.uses.filter((use) => use > key.created && use < key.gone) })),
  }));

/** Saves what a truthful control plane would have listed. Returns the organization. */
async function live({ keys, members, keyListings, memberListings }: Company): Promise<string> {
  companies += 1;
  // The measures read all keys: those of earlier companies would only cost time.
  await store.sql`truncate keywarden.credential, keywarden.key_listing, keywarden.organization cascade`;
  const organizationId = `company-${companies}`;
  const place = { controlPlane, seenAt: at(-300), organizationId };
  await saveOrganizations(store.sql, place, [
    { id: organizationId, name: organizationId, createdAt: at(-400), extra: {} },
  ]);
  const scope = {
    controlPlane,
    scope: `organization:${organizationId}`,
    organizationId,
    connection: 'main',
    run: null,
  };
  const keysAt = (day: number): WireKey[] =>
    keys.flatMap(({ created, gone, uses, creator }, index) =>
      created <= day && day < gone
        ? [
            makeWireKey(String(companies * 1000 + index), {
              createdAt: at(created),
              createdBy: { id: `user-${creator}`, name: null },
              lastUsedAt: lastUse(uses, day),
              lastUsedFromAddr: lastUse(uses, day) === null ? null : '192.0.2.1',
            }),
          ]
        : [],
    );
  for (const day of keyListings)
    await saveKeyListing(store.sql, { ...scope, listedAt: at(day), begunAt: at(day), keys: keysAt(day) });
  const membersAt = (day: number): WireMember[] => [
    memberOf('admin'),
    ...members.flatMap(({ joined, left }, index) => (joined <= day && day < left ? [memberOf(`user-${index}`)] : [])),
  ];
  for (const day of memberListings) await saveMembers(store.sql, { ...place, seenAt: at(day) }, membersAt(day));
  return organizationId;
}

const lastUse = (uses: number[], day: number) => {
  const use = uses.findLast((each) => each <= day);
  return use === undefined ? null : at(use);
};

const memberOf = (id: string): WireMember => ({
  id: `m-${id}`,
  userId: id,
  role: 'member',
  joinedAt: at(-300),
  email: `${id}@company.example`,
});

/** Assesses the keys of a company. Returns the indexes of exceptions and of keys that could not be assessed. */
async function assessed(organizationId: string, measured: Parameters<typeof assess>[1]['measured'], asOf: string) {
  const snapshot = await openSnapshot(store.sql);
  const found = { exceptions: [] as number[], unknown: [] as number[] };
  const indexOf = (text: string) => {
    const { id, organization_id: of } = JSON.parse(text) as { id: string; organization_id: string };
    return of === organizationId ? [Number(id) % 1000] : [];
  };
  try {
    for await (const { exceptions, unknown } of assess(snapshot, { of: 'keys', measured, asOf })) {
      found.exceptions.push(...exceptions.flatMap(indexOf));
      found.unknown.push(...unknown.flatMap(({ item }) => indexOf(item)));
    }
  } finally {
    await snapshot.close();
  }
  return found;
}

/** The creator of a key joins after one listing and before the next; evidence judges a time in between. */
const joinedBetweenListings: Company = {
  keys: [{ created: 0, uses: [], gone: Number.POSITIVE_INFINITY, creator: 1 }],
  members: [0, 47, 0, 0, 0].map((joined) => ({ joined, left: Number.POSITIVE_INFINITY })),
  keyListings: [46],
  memberListings: [0, 46, 46.75, 47.25],
  asOf: 47,
};

/** A use exactly thirty days before: as a fraction of a day the difference is a little more. */
const usedThirtyDaysBefore: Company = {
  keys: [{ created: 0, uses: [1501 / 24], gone: Number.POSITIVE_INFINITY, creator: 0 }],
  members: Array.from({ length: 5 }, () => ({ joined: 0, left: Number.POSITIVE_INFINITY })),
  keyListings: [1501 / 24],
  memberListings: [],
  asOf: 2221 / 24,
};

/** Four of five keys are gone in the listing of the very time that evidence judges, which is suspect. */
const suddenlyShorter: Company = {
  keys: [101, 101, 101, Number.POSITIVE_INFINITY, 101].map((gone) => ({ created: 0, uses: [], gone, creator: 0 })),
  members: usedThirtyDaysBefore.members,
  keyListings: [100, 150],
  memberListings: [],
  asOf: 150,
};

/** A former member, whose key is still there, comes back a few hours after the last listing. That listing counts for a day. */
const backAfterLastListing: Company = {
  keys: [{ created: 0, uses: [], gone: Number.POSITIVE_INFINITY, creator: 0 }],
  members: [3, 0, 0, 0, 0].map((joined) => ({ joined, left: Number.POSITIVE_INFINITY })),
  keyListings: [2],
  memberListings: [1 / 24, 2.5],
  asOf: 3,
};

/** Returns whether more than so many days are between two times, which are whole hours. */
const isLonger = (from: number, to: number, days: number) => Math.round((to - from) * 24) > days * 24;

const idleDays = 30;

test('evidence has no false exception and no false absence: what it cannot know is unknown', async () => {
  const seen = { exceptions: 0, unknown: 0, fine: 0 };
  await fc.assert(
    fc.asyncProperty(company, async (made) => {
      const organizationId = await live(made);
      const { keys, members, keyListings, memberListings, asOf } = made;
      const there = keys.flatMap(({ created, gone }, index) => (created <= asOf && asOf < gone ? [index] : []));
      const listed = there.filter((index) => {
        const { created, gone } = keys[index] ?? { created: 0, gone: 0 };
        return keyListings.some((day) => day >= created && day < gone);
      });
      // Nothing shows what happened after the last listing. It counts as evidence for a day.
      const seenUntil = (listings: number[]) =>
        listings.some((day) => day >= asOf) ? asOf : (listings.at(-1) ?? asOf);
      // A listing at that very time shows the truth, unless it is suddenly shorter: such a listing is suspect.
      const [listing] = await store.sql`
        select why_suspect is null as is_trusted from keywarden.key_listing where listed_at = ${at(asOf)}`;
      const isShown = listing?.is_trusted === true;
      const truths = [
        {
          measured: { of: 'idle' as const, days: idleDays },
          holds: (index: number) => {
            const { uses, created } = keys[index] ?? { uses: [], created: 0 };
            const use = uses.findLast((each) => each <= seenUntil(keyListings)) ?? created;
            return isLonger(use, asOf, idleDays) && isLonger(created, asOf, idleDays);
          },
          isKnown: isShown,
        },
        {
          measured: { of: 'old' as const, days: 90 },
          holds: (index: number) => isLonger(keys[index]?.created ?? 0, asOf, 90),
          // Otherwise the key may be gone.
          isKnown: isShown,
        },
        {
          measured: { of: 'orphaned' as const },
          holds: (index: number) => {
            const { joined, left } = members[keys[index]?.creator ?? 0] ?? { joined: 0, left: 0 };
            const until = seenUntil(memberListings);
            return !(joined <= until && until < left);
          },
          isKnown: false,
        },
      ];
      for (const { measured, holds, isKnown } of truths) {
        const { exceptions, unknown } = await assessed(organizationId, measured, at(asOf));
        for (const index of listed) {
          const is = exceptions.includes(index) ? 'exception' : unknown.includes(index) ? 'unknown' : 'fine';
          seen[is === 'exception' ? 'exceptions' : is] += 1;
          // Unknown claims nothing, but must not hide what a listing of that very time shows.
          const truth = is === 'unknown' ? (isKnown ? 'known' : 'unknown') : holds(index) ? 'exception' : 'fine';
          expect([measured.of, index, is]).toEqual([measured.of, index, truth]);
        }
      }
    }),
    {
      numRuns: sized(1000, 0.05),
      examples: [[joinedBetweenListings], [usedThirtyDaysBefore], [suddenlyShorter], [backAfterLastListing]],
    },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
});

test('plans, lists and evidence of the same minute agree about each live key', async () => {
  const seen = { yes: 0, no: 0, unknown: 0 };
  const measures = [
    { measured: { of: 'idle', days: idleDays }, filter: { idleMs: idleDays * dayMs } },
    { measured: { of: 'old', days: 90 }, filter: { ageMs: 90 * dayMs } },
    { measured: { of: 'orphaned' }, filter: { creatorLeft: true } },
  ] as const;
  const listed = company.filter(({ keyListings }) => keyListings.length > 0);
  await fc.assert(
    fc.asyncProperty(listed, async (made) => {
      const newest = made.keyListings.at(-1) ?? 0;
      const memberListings = made.memberListings.filter((day) => day <= newest);
      const organizationId = await live({ ...made, memberListings });
      // Half an hour after the newest listing: all other times are whole hours.
      const asOf = at(newest + 1 / 48);
      const { keys, scopes } = await readFactsAt(store, asOf);
      // A suspect listing proves nothing: a plan holds such keys for their old evidence, and evidence does not assess them.
      const isFresh = scopes.every(({ listedAt }) => Date.parse(listedAt) > Date.parse(asOf) - dayMs);
      for (const { measured, filter } of isFresh ? measures : []) {
        const planned = assessor(measured, Date.parse(asOf));
        const evidence = await assessed(organizationId, measured, asOf);
        const list = keyList({ ...filter, state: 'active' }, { organizations: null });
        const listedIds = (await readItems(store.db, list, 100)).map(({ id }) => id);
        for (const key of keys) {
          const index = Number(key.id) % 1000;
          const { result } = planned(key);
          seen[result] += 1;
          const inEvidence = evidence.exceptions.includes(index)
            ? 'yes'
            : evidence.unknown.includes(index)
              ? 'unknown'
              : 'no';
          const inList = listedIds.includes(key.id);
          expect([measured.of, key.id, inEvidence, inList]).toEqual([measured.of, key.id, result, result === 'yes']);
        }
      }
    }),
    { numRuns: sized(300, 0.05) },
  );
  // Thirty of the rarest answer are usual, and chance makes it eighteen now and then.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
});
