import { type Node, parseSync, type SelectStmt } from 'libpg-query';
import { distributedTables, referenceTables } from './citus.ts';

// By Postgres's own parser: what a cluster asks of a statement on more than one project. For tests.

/** Why a select stands where it does: within another's FROM, as one side of a union, or as an expression. */
interface Step {
  within: SelectStmt;
  as: 'from' | 'side' | 'expression';
  /** Nothing stands beside it in the FROM. */
  isAlone: boolean;
  isLateral: boolean;
}

const inner = (table: string) => table.replace(/_\d{4}_\d\d$/, '');
export const isDistributed = (table: string) => distributedTables.some((each) => each === inner(table));
export const isReference = (table: string) => referenceTables.some((each) => each === table);

/** What a cluster would refuse of a statement that is not bound to one project; see docs/adr/0017. Empty where it would take it. */
export function findRefusals(statement: string): string[] {
  const refusals: string[] = [];
  for (const { stmt } of parseSync(statement).stmts ?? [])
    if (stmt !== undefined) visitStatement(stmt, (text) => refusals.push(text));
  return refusals;
}

function visitStatement(node: Node, refuse: (text: string) => void): void {
  if ('DeclareCursorStmt' in node && node.DeclareCursorStmt.query !== undefined)
    visitStatement(node.DeclareCursorStmt.query, refuse);
  if ('ExplainStmt' in node && node.ExplainStmt.query !== undefined) visitStatement(node.ExplainStmt.query, refuse);
  if ('SelectStmt' in node) visitSelect(node.SelectStmt, [], refuse);
  const changed =
    'DeleteStmt' in node
      ? { ...node.DeleteStmt, from: node.DeleteStmt.usingClause }
      : 'UpdateStmt' in node
        ? { ...node.UpdateStmt, from: node.UpdateStmt.fromClause }
        : undefined;
  if (changed === undefined || !isDistributed(changed.relation?.relname ?? '')) return;
  if (changed.from !== undefined || subqueriesOf(changed.whereClause).length > 0)
    refuse(`${changed.relation?.relname} is changed by what other tables hold`);
}

function visitSelect(select: SelectStmt, path: Step[], refuse: (text: string) => void): void {
  const into = (as: Step['as'], { isAlone = true, isLateral = false } = {}): Step[] => [
    ...path,
    { within: select, as, isAlone, isLateral },
  ];
  for (const cte of select.withClause?.ctes ?? [])
    if ('CommonTableExpr' in cte && cte.CommonTableExpr.ctequery !== undefined)
      visitStatement(cte.CommonTableExpr.ctequery, refuse);
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

/** A select that has a distributed table in its own FROM. */
function check(select: SelectStmt, items: Node[], path: Step[], refuse: (text: string) => void): void {
  for (const item of items) {
    const table = 'RangeVar' in item ? (item.RangeVar.relname ?? '') : undefined;
    if (table === undefined || !(isDistributed(table) || isReference(table)))
      refuse(`${table ?? Object.keys(item)[0]} stands beside a distributed table`);
  }
  if (items.filter((item) => 'RangeVar' in item && isDistributed(item.RangeVar.relname ?? '')).length > 1)
    refuse('distributed tables are joined');
  if (subqueriesOf(expressionsOf(select)).length > 0) refuse('a subquery is asked for each distributed row');
  if (select.lockingClause !== undefined) refuse('distributed rows are locked');
  if (path.some(({ as, isLateral }) => as === 'expression' || isLateral))
    refuse('distributed rows are asked for each row of something else');
  let isCut = isCutting(select);
  for (const { within, as, isAlone } of path.toReversed()) {
    if (as === 'from' && !isAlone) {
      if (!isCut) refuse('distributed rows are joined before they are cut to a page or counted');
      return;
    }
    isCut ||= isCutting(within);
  }
}

/** Its rows are put together on the coordinator, as a result of their own, before anything else is done with them. */
function isCutting({ limitCount, limitOffset, groupClause }: SelectStmt): boolean {
  return limitCount !== undefined || limitOffset !== undefined || groupClause !== undefined;
}

/** What stands in a FROM, without its joins. */
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

/** The subqueries within an expression, not those within them. */
function subqueriesOf(expression: unknown): SelectStmt[] {
  if (typeof expression !== 'object' || expression === null) return [];
  if ('SubLink' in expression) {
    const { subselect } = expression.SubLink as { subselect?: Node };
    return subselect !== undefined && 'SelectStmt' in subselect ? [subselect.SelectStmt] : [];
  }
  return Object.values(expression).flatMap(subqueriesOf);
}

/**
 * What a cluster would refuse of any change of its tables, bound or not: within a case or a coalesce nothing may depend on settings or the clock.
 * By form alone, for the parser knows no types: no function, and no time that an interval is taken from.
 */
export function findMutableCases(statement: string): string[] {
  return changesIn(parseSync(statement)).flatMap((change) =>
    partsOf(change, ['CaseExpr', 'CoalesceExpr']).flatMap((part) => [
      ...partsOf(part, ['FuncCall']).map(() => 'a function within a case'),
      ...partsOf(part, ['A_Expr'])
        .filter(isTimeLessInterval)
        .map(() => 'a time less an interval within a case'),
    ]),
  );
}

function changesIn(tree: unknown): unknown[] {
  return partsOf(tree, ['UpdateStmt', 'InsertStmt']).filter((change) => {
    const { relation } = change as { relation?: { relname?: string } };
    return isDistributed(relation?.relname ?? '') || isReference(relation?.relname ?? '');
  });
}

function isTimeLessInterval(expression: unknown): boolean {
  const { name, lexpr, rexpr } = expression as Record<'name' | 'lexpr' | 'rexpr', unknown>;
  const isSum = /"sval":"[+-]"/.test(JSON.stringify(name));
  return isSum && [lexpr, rexpr].some((side) => /^\{"TypeCast".*"sval":"interval"/.test(JSON.stringify(side)));
}

/** The parts of these kinds anywhere in a tree, in each other, too. */
function partsOf(tree: unknown, kinds: string[]): unknown[] {
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([kind, part]) => [
    ...(kinds.includes(kind) ? [part] : []),
    ...partsOf(part, kinds),
  ]);
}
