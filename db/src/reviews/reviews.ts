import { canonicalJson, sha256 } from '@keywarden/core/values';
import { credentialKinds, isRevocable } from '@keywarden/core/wire';
import { and, count, eq } from 'drizzle-orm';
import { z } from 'zod';
import { inventoryList, type KeyFilter } from '../keys/list.ts';
import type { InventoryKind } from '../keys/source.ts';
import { type List, type Reader, select } from '../list.ts';
import { credential } from '../schema/keys.ts';
import { reviewItemNow } from '../schema/views.ts';
import { builderOf, countIf, noneOf, type Sql, toJson } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';
import { reviewItemList, reviewList } from './list.ts';

/** The keys to review, frozen as they are shown now. */
export interface Chosen {
  /** Which inventory to review; API keys by default. */
  of?: InventoryKind;
  filter: KeyFilter;
  /** The filter as requested, for readers of the review. */
  request: Record<string, unknown>;
  /** A time of the control plane. */
  asOf: string;
  holes: object[];
  keepForDays: number;
  principal: Principal;
}

export interface Readers {
  db: Reader;
  sql: Sql;
}

/** The maximum number of keys in a review. People cannot decide about more. */
export const mostReviewed = 20_000;

/** Returns the chosen keys as a JSON array of {number, key}; null if there is none or there are too many. */
export async function chooseItems(db: Reader, { of = 'keys', filter }: Chosen): Promise<string | null> {
  const keys = await db.execute(
    select(inventoryList(of, filter, { organizations: null }), { limit: mostReviewed + 1 }),
  );
  if (keys.length === 0 || keys.length > mostReviewed) return null;
  return `[${keys.map((row) => `{"number":${String(row.at0)},"key":${String(row.item)}}`).join(',')}]`;
}

/** Opens a review of the chosen keys, as the principal. Returns its number, or null if there is no key or there are too many. */
export async function openReview({ db, sql }: Readers, review: Chosen & { title: string }): Promise<string | null> {
  const { title, request, asOf, holes, keepForDays, principal } = review;
  const items = await chooseItems(db, review);
  if (items === null) return null;
  const [row] = await sql`
    select keywarden.open_review(${principal.credential}, ${title}, ${asOf}::timestamptz, ${toJson(request)}::text::jsonb,
      ${toJson(holes)}::text::jsonb, ${keepForDays}, ${items}::text::jsonb) as number`;
  return row?.number == null ? null : String(row.number);
}

export interface NewDecision {
  review: string;
  /** The numbers of the review's keys in the store. */
  keys: string[];
  decision: 'keep' | 'revoke' | 'rotate';
  /** Null for a key to keep whose campaign requires no reason. */
  reason: string | null;
  principal: Principal;
}

/** Records decisions about keys of an open review as the principal: all of them, or none. */
export async function decideReview(
  sql: Sql,
  { review, keys, decision, reason, principal }: NewDecision,
): Promise<'decided' | 'signed' | 'not its keys' | 'not rotated' | 'no reason'> {
  const [row] = await sql`
    select keywarden.decide_review(${principal.credential}, ${review}, ${[...new Set(keys)]}::bigint[], ${decision}, ${reason}) as how`;
  return row?.how as Awaited<ReturnType<typeof decideReview>>; // the function returns nothing else
}

export type Signature =
  | {
      isSigned: true;
      sha256: string;
      exemptions: number;
      rotations: number;
      revocations: number;
      to_end_upstream: number;
    }
  | { isSigned: false; why: 'signed' | 'undecided' | 'changed'; undecided: number };

/**
 * Signs a review in which everything is decided, as the principal. The signature makes its decisions effective. A key that is kept despite a rule's
 * finding is exempt from that rule for a time. A key to rotate gets a rotation request. A key to revoke is in the next plan, which a person approves.
 * `seen` is the SHA-256 of the document that the signer has read: a review with other decisions is not signed.
 */
export async function signReview(
  sql: Sql,
  { review, principal, seen }: { review: string; principal: Principal; seen?: string | undefined },
): Promise<Signature> {
  // A decision between reading and signing is found by the function, which compares.
  const document = await readReviewDocument(sql, review);
  if (seen !== undefined && seen !== sha256(document)) return { isSigned: false, why: 'changed', undecided: 0 };
  const [row] =
    await sql`select keywarden.sign_review(${principal.credential}, ${review}, ${document})::text as signed`;
  if (row?.signed == null) return { isSigned: false, why: 'signed', undecided: 0 };
  const signed = signatureResult.parse(JSON.parse(String(row.signed)));
  if ('undecided' in signed) return { isSigned: false, why: 'undecided', undecided: signed.undecided };
  if ('changed' in signed) return { isSigned: false, why: 'changed', undecided: 0 };
  const { reviewNumber, keyNumber, decision } = reviewItemNow;
  const [of] = await builderOf(sql)
    .select({ all: count(), notOurs: countIf(noneOf(credential.kind, credentialKinds.filter(isRevocable))) })
    .from(reviewItemNow)
    .innerJoin(credential, eq(credential.number, keyNumber))
    .where(and(eq(reviewNumber, review), eq(decision, 'revoke')));
  const { all = 0, notOurs: toEnd = 0 } = of ?? {};
  return { isSigned: true, ...signed, revocations: all - toEnd, to_end_upstream: toEnd };
}

const signatureResult = z.union([
  z.strictObject({ sha256: z.string(), exemptions: z.int(), rotations: z.int() }),
  z.strictObject({ undecided: z.int() }),
  z.strictObject({ changed: z.literal(true) }),
]);

/** Opens an incident for each signed review whose content differs from what was signed. */
export async function reportBrokenReviews(sql: Sql): Promise<void> {
  await sql`select keywarden.report_broken_reviews()`;
}

/** Returns the canonical JSON that a review's hash is computed from: the review without the fields that the signature adds, and each key with its decision. */
export async function readReviewDocumentOf(db: Reader, review: string): Promise<string> {
  const [head] = await readAll(db, reviewList({ number: review }));
  const { id, title, as_of, filter, holes, plan_id, keep_for_days, opened_by, opened_at } = head ?? {};
  return canonicalJson({
    review: { id, title, as_of, filter, holes, plan_id, keep_for_days, opened_by, opened_at },
    items: await readAll(db, reviewItemList({ review })),
  });
}

/** Returns the same, read at one time. */
export async function readReviewDocument(sql: Sql, review: string): Promise<string> {
  return await sql.begin('isolation level repeatable read read only', async (tx) =>
    readReviewDocumentOf(builderOf(tx), review),
  );
}

/** Returns all items of a list as Postgres wrote them. A schema would drop fields that a signature covers. */
async function readAll(db: Reader, list: List): Promise<Record<string, unknown>[]> {
  const rows = await db.execute(select(list));
  return rows.map((row) => JSON.parse(String(row.item)) as Record<string, unknown>);
}
