import { sql as fragment, type SQL } from 'drizzle-orm';
import { type Reader, when } from '../list.ts';
import type { Sql } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

/** Which keys of a plan a part of it revokes. All given conditions must hold. */
export interface PartFilter {
  organizationId?: string | undefined;
  /** A rule that flags the key. */
  rule?: string | undefined;
  /** A signed review that decided to revoke the key. */
  review?: string | undefined;
  /** The store's numbers of the keys. */
  keys?: string[] | undefined;
}

/** Returns the numbers of the keys that a plan would revoke and that the filter chooses. */
export async function choosePart(db: Reader, plan: string, filter: PartFilter): Promise<string[]> {
  const tests = [
    fragment`f.plan_id = ${plan} and f.disposition = 'planned'`,
    when(filter.organizationId, (id) => fragment`k.organization_id = ${id}`),
    when(filter.rule, (rule) => fragment`f.rule = ${rule}`),
    when(
      filter.review,
      (
        review,
      ) => fragment`exists (select from keywarden.review_item_now i join keywarden.review_signature s on s.review_number = i.review_number
        where i.review_number::text = ${review} and i.key_number = k.number and i.decision = 'revoke')`,
    ),
    when(filter.keys, (keys) => fragment`k.number = any(${fragment.param(keys)}::bigint[])`),
  ].filter((test) => test !== undefined);
  const rows = await db.execute(fragment`
    select distinct k.number::text as number, k.number as place from keywarden.finding_now f join keywarden.credential k on k.number = f.key_number
    where ${fragment.join(tests, fragment` and `)} order by place`);
  return rows.map((row) => String(row.number));
}

/** What a person can choose a part by, each with a name to show. */
export interface PartChoices {
  organizations: Choice[];
  rules: Choice[];
  /** Signed reviews that decided to revoke keys of the plan. */
  reviews: Choice[];
}

interface Choice {
  value: string;
  name: string;
}

/** Lists what a part of a plan can be chosen by. */
export async function listPartChoices(db: Reader, plan: string): Promise<PartChoices> {
  const read = async (choice: SQL, more: SQL) => {
    const rows = await db.execute(fragment`
      select distinct ${choice} from keywarden.finding_now f join keywarden.credential k on k.number = f.key_number ${more}
      where f.plan_id = ${plan} and f.disposition = 'planned' order by name, value`);
    return rows.map((row) => ({ value: String(row.value), name: String(row.name) }));
  };
  return {
    organizations: await read(
      fragment`o.id as value, o.name`,
      fragment`join keywarden.organization o on o.control_plane_number = k.control_plane_number and o.id = k.organization_id`,
    ),
    rules: await read(fragment`f.rule as value, f.rule as name`, fragment``),
    reviews: await read(
      fragment`r.number::text as value, r.title as name`,
      fragment`join keywarden.review_item_now i on i.key_number = k.number and i.decision = 'revoke'
        join keywarden.review_signature s on s.review_number = i.review_number join keywarden.review r on r.number = i.review_number`,
    ),
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
    const [made] = await tx`select keywarden.derive_plan_of(${plan}, ${keys}::text[]::bigint[]) as id`;
    const [row] =
      await tx`select id, sha256, created_at = now() as is_new from keywarden.plan where id = ${String(made?.id)}`;
    return row === undefined ? null : { id: String(row.id), sha256: String(row.sha256), isNew: row.is_new === true };
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
