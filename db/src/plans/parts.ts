import { and, type Column, eq, exists, sql as fragment } from 'drizzle-orm';
import { type Reader, when } from '../list.ts';
import { credential } from '../schema/keys.ts';
import { organization } from '../schema/organizations.ts';
import { reviewSignature, review as reviewTable } from '../schema/reviews.ts';
import { findingNow, reviewItemNow } from '../schema/views.ts';
import { anyOf, hasValues, readText, type Sql } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

/** Which keys of a plan a part of it revokes. All given conditions must hold. */
export interface PartFilter {
  organizationId?: string | undefined;
  /** A rule that flags the key. */
  rule?: string | undefined;
  /** A signed review that decided to revoke the key. */
  reviewId?: string | undefined;
  /** The store's numbers of the keys. */
  keys?: string[] | undefined;
}

/** Returns the numbers of the keys that a plan would revoke and that the filter chooses. */
export async function choosePart(db: Reader, plan: string, filter: PartFilter): Promise<string[]> {
  const { organizationId, rule, reviewId, keys } = filter;
  const { number } = credential;
  const isReviewed = and(
    fragment`${reviewItemNow.reviewNumber}::text = ${reviewId ?? null}`,
    hasValues(reviewItemNow, { keyNumber: number, decision: 'revoke' }),
  );
  const reviewed = db
    .select({ number: reviewItemNow.reviewNumber })
    .from(reviewItemNow)
    .innerJoin(reviewSignature, eq(reviewSignature.reviewNumber, reviewItemNow.reviewNumber))
    .where(isReviewed);
  const rows = await db
    .selectDistinct({ number })
    .from(findingNow)
    .innerJoin(credential, eq(number, findingNow.keyNumber))
    .where(
      and(
        isPlanned(plan),
        when(organizationId, (id) => eq(credential.organizationId, id)),
        when(rule, (name) => eq(findingNow.rule, name)),
        when(reviewId, () => exists(reviewed)),
        when(keys, (chosen) => anyOf(number, chosen)),
      ),
    )
    .orderBy(number);
  return rows.map((row) => row.number);
}

const isPlanned = (planId: string) => hasValues(findingNow, { planId, disposition: 'planned' });

/** Lists what a person can choose a part of a plan by, each with a name to show: organizations, rules, and signed reviews that decided to revoke keys of it. */
export async function listPartChoices(db: Reader, plan: string) {
  const planned = (of: { value: Column; name: Column }) => {
    const [value, name] = [fragment<string>`${of.value}`, fragment<string>`${of.name}`];
    return db
      .selectDistinct({ value, name })
      .from(findingNow)
      .innerJoin(credential, eq(credential.number, findingNow.keyNumber))
      .where(isPlanned(plan))
      .orderBy(name, value)
      .$dynamic();
  };
  const { controlPlaneNumber, organizationId, number } = credential;
  const isOrganization = hasValues(organization, { controlPlaneNumber, id: organizationId });
  const isReviewed = hasValues(reviewItemNow, { keyNumber: number, decision: 'revoke' });
  return {
    organizations: await planned({ value: organization.id, name: organization.name }).innerJoin(
      organization,
      isOrganization,
    ),
    rules: await planned({ value: findingNow.rule, name: findingNow.rule }),
    reviews: await planned({ value: reviewTable.number, name: reviewTable.title })
      .innerJoin(reviewItemNow, isReviewed)
      .innerJoin(reviewSignature, eq(reviewSignature.reviewNumber, reviewItemNow.reviewNumber))
      .innerJoin(reviewTable, eq(reviewTable.number, reviewItemNow.reviewNumber)),
  };
}

/** A part of a plan as it is stored. */
export interface Part {
  id: string;
  sha256: string;
  isNew: boolean;
}

/** Makes the part of a plan that revokes only these keys, at the command line. Returns null if the plan has none of them. */
export async function derivePlan(sql: Sql, { plan, keys }: { plan: string; keys: string[] }): Promise<Part | null> {
  return await sql.begin(async (tx) => {
    const id = await readText(tx`select keywarden.derive_plan_of(${plan}, ${keys}::text[]::bigint[])`);
    const [row] = await tx`select sha256, created_at = now() as is_new from keywarden.plan where id = ${id}`;
    return row === undefined ? null : { id, sha256: String(row.sha256), isNew: row.is_new === true };
  });
}

/** Makes a part of a plan as the principal. Returns null for a plan that is superseded or has none of the keys. */
export async function derivePlanAs(
  sql: Sql,
  { plan, keys, principal }: { plan: string; keys: string[]; principal: Principal },
): Promise<string | null> {
  const [row] =
    await sql`select keywarden.derive_plan(${principal.credential}, ${plan}, ${keys}::text[]::bigint[]) as id`;
  return row?.id == null ? null : String(row.id);
}
