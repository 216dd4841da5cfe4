import { canonicalJson, sha256 } from '@keywarden/core/values';
import { credentialKinds, isRevocable } from '@keywarden/core/wire';
import { eq, sql as fragment } from 'drizzle-orm';
import { insertExemption } from '../exemptions/exemptions.ts';
import { inventoryList, type KeyFilter } from '../keys/list.ts';
import type { Inventoried } from '../keys/source.ts';
import { type List, select } from '../list.ts';
import { toInstant } from '../schema/columns.ts';
import { reviewSignature } from '../schema/reviews.ts';
import { builderOf, type Sql, type Tx } from '../sql.ts';
import { reviewItemList, reviewList } from './list.ts';

export interface NewReview {
  title: string;
  /** The keys to review. `asOf` is a time of the control plane, or absent for now. */
  of?: Inventoried;
  filter: KeyFilter;
  /** The filter as requested, for readers of the review. */
  asked: Record<string, unknown>;
  asOf: string;
  holes: object[];
  keepForDays: number;
  by: string;
}

/** The maximum number of keys in a review. People cannot decide about more. */
export const mostReviewed = 20_000;

/**
 * Opens a review of the keys as they are shown now. Returns its number, or null if there is no key or there are too many.
 */
export async function openReview(sql: Sql, review: NewReview): Promise<string | null> {
  const { title, of = 'keys', filter, asked, asOf, holes, keepForDays, by } = review;
  const keys = select(inventoryList(of, filter, { organizations: null }), { limit: mostReviewed + 1 });
  return await sql.begin(async (tx) => {
    const db = builderOf(tx);
    const [counted] = await db.execute(fragment`select count(*)::int as keys from (${keys}) k`);
    const count = Number(counted?.keys);
    if (count === 0 || count > mostReviewed) return null;
    const [row] = await tx`
      insert into keywarden.review (title, as_of, filter, holes, plan_id, keep_for, opened_by)
      values (${title}, ${asOf}::timestamptz, ${JSON.stringify(asked)}::text::jsonb, ${JSON.stringify(holes)}::text::jsonb,
        (select id from keywarden.plan order by last_made_at desc, sequence desc limit 1), ${keepForDays} * interval '1 day', ${by})
      returning number`;
    const number = String(row?.number);
    await db.execute(fragment`
      insert into keywarden.review_item (review_number, key_number, key, findings)
      select ${number}::bigint, k.at0::bigint, k.item::jsonb, coalesce((
        select jsonb_agg(jsonb_build_object('rule', f.rule, 'action', f.action, 'disposition', f.disposition, 'reason', f.reason)
          order by f.number)
        from keywarden.finding f join keywarden.review v on v.plan_id = f.plan_id
        where v.number = ${number}::bigint and f.key_number = k.at0::bigint), '[]')
      from (${keys}) k`);
    return number;
  });
}

export interface NewDecision {
  review: string;
  /** The numbers of the review's keys in the store. */
  keys: string[];
  decision: 'keep' | 'revoke' | 'rotate';
  reason: string;
  by: string;
}

/** Records decisions about keys of an open review: all of them, or none. */
export async function decideReview(
  sql: Sql,
  { review, keys, decision, reason, by }: NewDecision,
): Promise<'decided' | 'signed' | 'not its keys' | 'not rotated'> {
  return await sql.begin(async (tx) => {
    if (await isSigned(tx, review)) return 'signed';
    const [row] = await tx`
      select count(*)::int as known, count(*) filter (where exists (select from keywarden.key k where k.number = i.key_number))::int as rotated
      from keywarden.review_item i where i.review_number = ${review} and i.key_number = any(${keys}::bigint[])`;
    if (Number(row?.known) !== new Set(keys).size) return 'not its keys';
    if (decision === 'rotate' && Number(row?.rotated) !== new Set(keys).size) return 'not rotated';
    await tx`
      insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
      select ${review}::bigint, key, ${decision}, ${reason}, ${by} from unnest(${[...new Set(keys)]}::bigint[]) as key`;
    return 'decided';
  });
}

/** Returns whether a review is signed, and keeps the answer true until the transaction ends. */
async function isSigned(tx: Tx, review: string): Promise<boolean> {
  await tx`select keywarden.lock_review(${review})`;
  return (await builderOf(tx).$count(reviewSignature, eq(reviewSignature.reviewNumber, review))) > 0;
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
  | { isSigned: false; why: 'signed' | 'undecided'; undecided: number };

/**
 * Signs a review in which everything is decided. The signature makes its decisions effective. A key that is kept despite a rule's finding
 * is exempt from that rule for a time. A key to rotate gets a rotation request. A key to revoke is in the next plan, which a person
 * approves.
 */
export async function signReview(sql: Sql, { review, by }: { review: string; by: string }): Promise<Signature> {
  return await sql.begin(async (tx): Promise<Signature> => {
    if (await isSigned(tx, review)) return { isSigned: false, why: 'signed', undecided: 0 };
    const document = await readDocument(tx, review);
    const undecided = document.items.filter((item) => item.decision === null).length;
    if (undecided > 0) return { isSigned: false, why: 'undecided', undecided };
    const hash = sha256(canonicalJson(document));
    await builderOf(tx).insert(reviewSignature).values({ reviewNumber: review, signedBy: by, sha256: hash });
    const decided = (how: string) => document.items.filter((item) => item.decision === how).length;
    const toEnd = await countNotOurs(tx, review);
    return {
      isSigned: true,
      sha256: hash,
      exemptions: await exemptKept(tx, { review, by }),
      rotations: await askRotations(tx, review),
      revocations: decided('revoke') - toEnd,
      to_end_upstream: toEnd,
    };
  });
}

/** Counts the credentials that were to be revoked but that Keywarden does not revoke. */
async function countNotOurs(tx: Tx, review: string): Promise<number> {
  const [row] = await tx`
    select count(*)::int as n from keywarden.review_verdict v join keywarden.credential k on k.number = v.key_number
    where v.review_number = ${review} and v.decision = 'revoke' and k.kind <> all(${credentialKinds.filter(isRevocable)})`;
  return Number(row?.n);
}

interface ReviewDocument {
  review: Record<string, unknown>;
  items: Record<string, unknown>[];
}

/**
 * Returns what a signature covers: the review without the fields that the signature adds, and each key with its decision.
 */
async function readDocument(tx: Tx, review: string): Promise<ReviewDocument> {
  const [head] = await readAll(tx, reviewList({ number: review }));
  const { id, title, as_of, filter, holes, plan_id, keep_for_days, opened_by, opened_at } = head ?? {};
  return {
    review: { id, title, as_of, filter, holes, plan_id, keep_for_days, opened_by, opened_at },
    items: await readAll(tx, reviewItemList({ review })),
  };
}

/** Returns the canonical JSON that a review's hash is computed from. */
export async function readReviewDocument(sql: Sql, review: string): Promise<string> {
  return await sql.begin('isolation level repeatable read read only', async (tx) =>
    canonicalJson(await readDocument(tx, review)),
  );
}

/** Returns all items of a list as Postgres wrote them. A schema would drop fields that a signature covers. */
async function readAll(tx: Tx, list: List): Promise<Record<string, unknown>[]> {
  const rows = await builderOf(tx).execute(select(list));
  return rows.map((row) => JSON.parse(String(row.item)) as Record<string, unknown>);
}

/**
 * Exempts the kept keys in the signer's name, because a decider may not grant exemptions. The rule of reviews is excluded, because its
 * exemption would outlast the next review.
 */
async function exemptKept(tx: Tx, { review, by }: { review: string; by: string }): Promise<number> {
  await tx`
    update keywarden.exemption e set ended_at = greatest(e.granted_at, v.at), ended_by = ${by}
    from (select x.exemption_number, max(p.at) as at from keywarden.review_verdict d
        join keywarden.exemption_key x on x.key_number = d.key_number join keywarden.credential k on k.number = d.key_number
        join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
      where d.review_number = ${review} and d.decision = 'revoke' group by x.exemption_number) v
    where e.number = v.exemption_number and e.ended_at is null and e.reason like 'access review %'`;
  const kept = await tx`
    select v.key_number, v.reason, v.decided_by, p.at, p.at + r.keep_for as until,
      array(select distinct f ->> 'rule' from jsonb_array_elements(i.findings) f where f ->> 'rule' <> 'access-review' order by 1) as rules
    from keywarden.review_verdict v join keywarden.review r on r.number = v.review_number
      join keywarden.review_item i on i.review_number = v.review_number and i.key_number = v.key_number
      join keywarden.credential k on k.number = v.key_number
      join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
    where v.review_number = ${review} and v.decision = 'keep' and i.findings <> '[]' and k.gone_at is null
      and r.keep_for > interval '0' order by v.key_number`;
  const exempted = kept.filter((row) => (row.rules as unknown[]).length > 0);
  for (const row of exempted) {
    await insertExemption(tx, {
      keys: [String(row.key_number)],
      rules: (row.rules as unknown[]).map(String),
      pattern: null,
      reason: `access review ${review}: ${String(row.reason)}, decided by ${String(row.decided_by)}`,
      grantedBy: by,
      grantedAt: toInstant(String(row.at)),
      until: toInstant(String(row.until)),
    });
  }
  return exempted.length;
}

async function askRotations(tx: Tx, review: string): Promise<number> {
  const { count } = await tx`
    insert into keywarden.rotation_request (key_number, requested_by, reason)
    select v.key_number, v.decided_by, ${`access review ${review}: `} || v.reason
    from keywarden.review_verdict v join keywarden.key k on k.number = v.key_number
    where v.review_number = ${review} and v.decision = 'rotate' and k.gone_at is null order by v.key_number`;
  return count;
}
