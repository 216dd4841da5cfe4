import { builderOver, type Db, type Sql } from '@keywarden/db/store';
import postgres from 'postgres';
import { findMutableCases, findRefusals, isDistributed, isReference } from './distributed-statements.ts';

// The plans of statements, as a cluster would judge them.

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  'Recheck Cond'?: string;
  Filter?: string;
  Plans?: Plan[];
}

/** A statement that was executed. */
export interface Seen {
  query: string;
  /** Each scan or change of a distributed table, with the conditions that bind it. */
  scans: { table: string; conditions: string }[];
  /** The tables that it changes. */
  changes: string[];
}

function scansOf(plan: Plan): Seen['scans'] {
  const { 'Node Type': type, 'Relation Name': table = '' } = plan;
  const { 'Index Cond': index, 'Recheck Cond': recheck, Filter: filter } = plan;
  const isScan = isDistributed(table) && type !== 'ModifyTable';
  return [
    ...(isScan ? [{ table, conditions: [index, recheck, filter].join(' ') }] : []),
    ...(plan.Plans ?? []).flatMap(scansOf),
  ];
}

function changesOf(plan: Plan): string[] {
  const { 'Node Type': type, 'Relation Name': table = '' } = plan;
  return [...(type === 'ModifyTable' ? [table] : []), ...(plan.Plans ?? []).flatMap(changesOf)];
}

/** Runs work on a session of a store that reports the plan of every statement, including those within functions. */
export async function watchStatements(url: string, work: (sql: Sql, db: Db) => Promise<void>): Promise<Seen[]> {
  const seen: Seen[] = [];
  const sql = postgres(url, {
    max: 1,
    onnotice({ message = '' }) {
      const json = /plan:\s*(\{[\s\S]*\})/.exec(message)?.[1];
      if (json === undefined) return;
      const { 'Query Text': query, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: Plan };
      const one = { query, scans: scansOf(plan), changes: changesOf(plan) };
      if (one.scans.length > 0 || changesNodes(one)) seen.push(one);
    },
  });
  await sql
    .unsafe(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set auto_explain.log_format = json; set auto_explain.log_verbose = on; set client_min_messages = log; set plan_cache_mode = force_custom_plan;
    set enable_partition_pruning = off`)
    .simple();
  try {
    await work(sql, builderOver(sql));
  } finally {
    await sql.end();
  }
  return seen;
}

/**
 * Returns whether all scans are bound to one project, or to the projects of one shard. A statement that only adds rows scans nothing, and its rows name
 * their project.
 */
export function isBound({ scans }: Seen): boolean {
  return scans.every(
    ({ conditions }) =>
      /project_number = '?\d+/.test(conditions) || isOneShard(/= ANY \('\{([\d,]+)\}'/.exec(conditions)?.[1]),
  );
}

/** Returns whether these projects are of one shard: see addClusterFunctions. */
const isOneShard = (projects: string | undefined) =>
  projects !== undefined && new Set(projects.split(',').map((number) => Number(number) % 3)).size === 1;

/** Returns, for each statement that a cluster would refuse, its first words and the reason. */
export function refusalsOf(all: Seen[]): string[] {
  return all.flatMap((each) => {
    const why = [
      ...(isBound(each) ? [] : findRefusals(each.query)),
      ...(changesNodes(each) ? findMutableCases(each.query) : []),
    ];
    return why.map((one) => `${each.query.trim().slice(0, 300)}: ${one}`);
  });
}

/** Returns whether a statement changes a table that nodes of a cluster have. */
export const changesNodes = ({ changes }: Seen) => changes.some((table) => isDistributed(table) || isReference(table));
