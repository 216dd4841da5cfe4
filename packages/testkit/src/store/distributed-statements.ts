import { distributedTables, referenceTables } from '@keywarden/db/citus';
import { type DeleteStmt, loadModule, type Node, parseSync, type SelectStmt, type UpdateStmt } from 'libpg-query';

await loadModule();

// What a cluster requires of a statement on more than one project, checked with Postgres's own parser. For tests.

/** The position of a select: in another select's FROM, as one side of a union, or as an expression. */
interface Step {
  within: SelectStmt;
  as: 'from' | 'side' | 'expression';
  /** Whether it is the only item in the FROM. */
  isAlone: boolean;
  isLateral: boolean;
}

const inner = (table: string) => table.replace(/_\d{4}_\d\d$/, '');
export const isDistributed = (table: string) => distributedTables.some((each) => each === inner(table));
export const isReference = (table: string) => referenceTables.some((each) => each === table);

/**
 * Lists what a cluster would refuse in a statement that is not bound to one project; see docs/adr/0017. Returns an empty list if the cluster would
 * accept it.
 */
export function findRefusals(statement: string): string[] {
  const refusals: string[] = [];
  for (const { stmt } of parseSync(statement).stmts ?? [])
    if (stmt !== undefined) visitStatement(stmt, (text) => refusals.push(text));
  return refusals;
}

type Refuse = (text: string) => void;

/** The step into a subquery that has other items beside it in the FROM. Its rows must be cut before that step. */
const beside: Step = { within: {}, as: 'from', isAlone: false, isLateral: false };

function visitStatement(node: Node, refuse: Refuse): void {
  if ('SelectStmt' in node) return visitSelect(node.SelectStmt, [], refuse);
  if ('DeclareCursorStmt' in node) return visitQuery(node.DeclareCursorStmt.query, refuse);
  if ('ExplainStmt' in node) return visitQuery(node.ExplainStmt.query, refuse);
  if ('DeleteStmt' in node) return visitChange(node.DeleteStmt, node.DeleteStmt.usingClause, refuse);
  if ('UpdateStmt' in node) return visitChange(node.UpdateStmt, node.UpdateStmt.fromClause, refuse);
  if (mentionsDistributed(node)) refuse(`${Object.keys(node)[0]} has a form that is not known to be accepted`);
}

function visitQuery(query: Node | undefined, refuse: Refuse): void {
  if (query !== undefined) visitStatement(query, refuse);
}

function visitChange(change: DeleteStmt | UpdateStmt, from: Node[] | undefined, refuse: Refuse): void {
  const isOwn = isDistributed(change.relation?.relname ?? '');
  if (isOwn && (from !== undefined || subqueriesOf(change.whereClause).length > 0))
    refuse(`${change.relation?.relname} is changed with rows of other tables`);
  if (!isOwn && mentionsDistributed(change)) refuse('another table is changed with rows of distributed tables');
}

const mentionsDistributed = (tree: unknown): boolean =>
  partsOf(tree, ['RangeVar', 'relation']).some((table) =>
    isDistributed(String((table as { relname?: string }).relname)),
  );

function visitSelect(select: SelectStmt, path: Step[], refuse: Refuse): void {
  const into = (as: Step['as'], { isAlone = true, isLateral = false } = {}): Step[] => [
    ...path,
    { within: select, as, isAlone, isLateral },
  ];
  for (const cte of select.withClause?.ctes ?? [])
    if ('CommonTableExpr' in cte) {
      const { ctequery: query } = cte.CommonTableExpr;
      if (query !== undefined && 'SelectStmt' in query) visitSelect(query.SelectStmt, [beside], refuse);
      else visitQuery(query, refuse);
    }
  for (const side of [select.larg, select.rarg]) if (side !== undefined) visitSelect(side, into('side'), refuse);
  const items = (select.fromClause ?? []).flatMap(itemsOf);
  for (const item of items) {
    if ('RangeVar' in item && isDistributed(item.RangeVar.relname ?? '')) check(select, items, path, refuse);
    if ('RangeSubselect' in item && item.RangeSubselect.subquery !== undefined) {
      const { subquery, lateral: isLateral = false } = item.RangeSubselect;
      if ('SelectStmt' in subquery)
        visitSelect(subquery.SelectStmt, into('from', { isAlone: items.length === 1, isLateral }), refuse);
    }
  }
  for (const subquery of subqueriesOf(expressionsOf(select))) visitSelect(subquery, into('expression'), refuse);
}

/** Checks a select that has a distributed table in its own FROM. */
function check(select: SelectStmt, items: Node[], path: Step[], refuse: Refuse): void {
  for (const item of items) {
    const table = 'RangeVar' in item ? (item.RangeVar.relname ?? '') : undefined;
    if (table === undefined || !(isDistributed(table) || isReference(table)))
      refuse(`${table ?? Object.keys(item)[0]} is used beside a distributed table`);
  }
  if (items.filter((item) => 'RangeVar' in item && isDistributed(item.RangeVar.relname ?? '')).length > 1)
    refuse('distributed tables are joined');
  if ((select.fromClause ?? []).some(isInnerSideDistributed)) refuse('distributed rows are optional in an outer join');
  if (subqueriesOf(expressionsOf(select)).length > 0) refuse('a subquery runs for each distributed row');
  if (select.lockingClause !== undefined) refuse('distributed rows are locked');
  if (path.some(({ as, isLateral }) => as === 'expression' || isLateral))
    refuse('distributed rows are queried for each row of another item');
  if (items.some(isOfOperations) && ![select, ...path.map(({ within }) => within)].some(isBounded))
    refuse('rows of several projects are gathered without a limit');
  let isCut = isCutting(select);
  for (const { within, as, isAlone } of path.toReversed()) {
    if (as === 'from' && !isAlone) {
      if (!isCut) refuse('distributed rows are joined before they are cut to a page or counted');
      return;
    }
    isCut ||= isCutting(within);
  }
}

/** Returns whether the coordinator must gather the rows as a separate result before it processes them further. */
function isCutting({ limitCount, limitOffset, groupClause }: SelectStmt): boolean {
  return limitCount !== undefined || limitOffset !== undefined || groupClause !== undefined;
}

/** Tables with many rows of a project. The others have one or few. */
function isOfOperations(item: Node): boolean {
  return 'RangeVar' in item && ['operation', 'operation_version'].includes(inner(item.RangeVar.relname ?? ''));
}

/** Returns whether the result has few rows: a page, a group for each value, or one row of sums. A cluster refuses to collect any number of rows. */
function isBounded({ limitCount, groupClause, targetList }: SelectStmt): boolean {
  const targets = targetList ?? [];
  return (
    limitCount !== undefined || groupClause !== undefined || (targets.length > 0 && targets.every(isAggregateOnly))
  );
}

const aggregates = ['count', 'sum', 'min', 'max', 'avg'];

function isAggregateOnly(target: Node): boolean {
  const names = partsOf(target, ['FuncCall']).map((call) => JSON.stringify((call as { funcname?: unknown }).funcname));
  return names.some((name) => aggregates.some((aggregate) => name.includes(`"${aggregate}"`)));
}

/** Returns whether a join keeps rows of other tables that have no match among distributed rows. */
function isInnerSideDistributed(item: Node): boolean {
  if (!('JoinExpr' in item)) return false;
  const { jointype, larg, rarg } = item.JoinExpr;
  const [isLeft, isRight] = [larg, rarg].map((side) => side !== undefined && itemsOf(side).some(isDistributedItem));
  if (jointype === 'JOIN_LEFT' && isRight && !isLeft) return true;
  return [larg, rarg].some((side) => side !== undefined && isInnerSideDistributed(side));
}

const isDistributedItem = (item: Node) => 'RangeVar' in item && isDistributed(item.RangeVar.relname ?? '');

/** Returns the items of a FROM, without their joins. */
function itemsOf(item: Node): Node[] {
  if (!('JoinExpr' in item)) return [item];
  return [item.JoinExpr.larg, item.JoinExpr.rarg].flatMap((side) => (side === undefined ? [] : itemsOf(side)));
}

function expressionsOf({ targetList, whereClause, havingClause, sortClause, fromClause }: SelectStmt): unknown[] {
  return [targetList, whereClause, havingClause, sortClause, ...(fromClause ?? []).flatMap(conditionsOf)];
}

function conditionsOf(item: Node | undefined): unknown[] {
  if (item === undefined || !('JoinExpr' in item)) return [];
  const { larg, rarg, quals } = item.JoinExpr;
  return [quals, ...conditionsOf(larg), ...conditionsOf(rarg)];
}

/** Returns the subqueries within an expression, without their nested subqueries. */
function subqueriesOf(expression: unknown): SelectStmt[] {
  if (typeof expression !== 'object' || expression === null) return [];
  if ('SubLink' in expression) {
    const { subselect } = expression.SubLink as { subselect?: Node };
    return subselect !== undefined && 'SelectStmt' in subselect ? [subselect.SelectStmt] : [];
  }
  return Object.values(expression).flatMap(subqueriesOf);
}

/**
 * Lists what a cluster would refuse in any change of its tables, bound or not. Nothing within a case or a coalesce may depend on settings or the
 * clock. The check is by form only, because the parser has no types: no function, cast, sum, or arithmetic of a time and an interval.
 */
export function findMutableCases(statement: string): string[] {
  return changesIn(parseSync(statement)).flatMap((change) =>
    partsOf(change, ['CaseExpr', 'CoalesceExpr']).flatMap((part) => [
      ...partsOf(part, ['FuncCall', 'SQLValueFunction']).map(() => 'a function within a case'),
      ...partsOf(part, ['A_Expr'])
        .filter(isTimeAndInterval)
        .map(() => 'a time and an interval within a case'),
      ...partsOf(part, ['TypeCast'])
        .filter(isCastOfColumn)
        .map(() => 'a cast within a case'),
    ]),
  );
}

function changesIn(tree: unknown): unknown[] {
  return partsOf(tree, ['UpdateStmt', 'InsertStmt', 'DeleteStmt']).filter((change) => {
    const { relation } = change as { relation?: { relname?: string } };
    return isDistributed(relation?.relname ?? '') || isReference(relation?.relname ?? '');
  });
}

function isTimeAndInterval(expression: unknown): boolean {
  const { name, lexpr, rexpr } = expression as Record<'name' | 'lexpr' | 'rexpr', unknown>;
  if (JSON.stringify(name).includes('"sval":"+"')) return true;
  const isInterval = (side: unknown) => /^\{"TypeCast".*"sval":"interval"/.test(JSON.stringify(side));
  return JSON.stringify(name).includes('"sval":"-"') && [lexpr, rexpr].some(isInterval);
}

/** Returns whether a cast converts a column. A parameter or a constant has its type from the start; anything else is converted at run time. */
function isCastOfColumn(cast: unknown): boolean {
  const { arg } = cast as { arg?: Node };
  return arg !== undefined && !('ParamRef' in arg) && !('A_Const' in arg);
}

/** Returns the parts of these kinds anywhere in a tree, including nested ones. */
function partsOf(tree: unknown, kinds: string[]): unknown[] {
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([kind, part]) => [
    ...(kinds.includes(kind) ? [part] : []),
    ...partsOf(part, kinds),
  ]);
}

/**
 * Lists the tables that a transaction on distributed tables changes elsewhere. If the commit of a node is cut, such a change is visible a minute before
 * the rows that it is about.
 */
export function findChangesElsewhere(tables: string[]): string[] {
  return tables.some(isDistributed) ? tables.filter((table) => !isDistributed(table) && !isReference(table)) : [];
}

/**
 * Lists what a cluster refuses in the body of a function: a second change of distributed tables in one transaction, after a first that ran on all nodes
 * in parallel.
 */
export function findParallelChanges(body: string): string[] {
  const changes = [...body.matchAll(/\b(drop table|alter table|delete from|update|truncate) [^;]*;/g)]
    .map(([change]) => change)
    .filter((change) => distributedTables.some((table) => new RegExp(`\\b${table}\\b`).test(change)))
    .filter((change) => !/project_number = project\b/.test(change));
  const isSequential = body.includes("set_config('citus.multi_shard_modify_mode', 'sequential', true)");
  return changes.length > 1 && !isSequential ? changes : [];
}
