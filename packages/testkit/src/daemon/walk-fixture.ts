import { compareInstants } from '@keywarden/core/values';
import type { WireOperation } from '@keywarden/core/wire';
import type { WalkedClient } from '@keywarden/daemon';
import { proofOf, type Walk, type WalkedPage, walkOperations } from '@keywarden/daemon';

// Parts of walk tests: operation lists as different services return them, and the results of a walk over them.

export type Row = Pick<WireOperation, 'id' | 'createdAt'>;

export interface PageRequest {
  limit: number;
  cursor: string | undefined;
}

export type ReadPage = Awaited<ReturnType<WalkedClient['operationsPage']>>;
export type Lister = Pick<WalkedClient, 'operationsPage'>;

interface ListStyle {
  /** The service's page size. */
  size?: number;
  /** Whether every page with rows has a cursor; otherwise only full pages have one. */
  everyPage?: boolean;
  /** Fraction digits in the times of rows; cursors have all digits. */
  digits?: 0 | 6;
  /** Runs before each request and may add or remove rows. */
  change?: (asked: PageRequest) => void;
}

/** Returns a list of one project's operations, newest first. A page begins strictly below its cursor. */
export function listOf(
  rows: () => Row[],
  { size = Number.POSITIVE_INFINITY, everyPage = false, digits = 6, change = () => undefined }: ListStyle = {},
): Lister {
  return {
    async operationsPage(_project, { limit = 1000, cursor } = {}) {
      change({ limit, cursor });
      const most = Math.min(limit, size);
      const page = rows()
        .filter((row) => cursor === undefined || compareInstants(row.createdAt, cursor) < 0)
        .slice(0, most);
      const next = everyPage || page.length === most ? (page.at(-1)?.createdAt ?? null) : null;
      const items = page.map((row) => ({ projectId: 'p', ...row, createdAt: shownWith(digits, row.createdAt) }));
      return { items, cursor: next, dateMs: 0, ageMs: 0 } as never;
    },
  };
}

/** Returns a time with this many fraction digits. */
export const shownWith = (digits: 0 | 6, at: string) => (digits === 0 ? `${at.slice(0, 19)}Z` : at);

/** Returns a walk of that project from its newest operation to the end. */
export const walkOf = (change: Partial<Walk> = {}): Walk => ({
  projectId: 'p',
  from: null,
  floor: null,
  firstLimit: 1000,
  maxLimit: 1000,
  datedAt: () => '2026-01-01T00:00:00Z',
  now: () => 0,
  projectCreatedAt: '2025-12-01T00:00:00Z',
  seen: { largestPage: 0 },
  signal: new AbortController().signal,
  ...change,
});

export async function pagesOf({ operationsPage }: Lister, walk = walkOf()): Promise<WalkedPage[]> {
  const pages: WalkedPage[] = [];
  for await (const page of walkOperations(withEnds({ operationsPage }), walk)) pages.push(page);
  return pages;
}

export const withEnds = ({ operationsPage }: Lister): WalkedClient => ({
  operationsPage,
  async operationsPageEnd(projectId, asked) {
    const { items, cursor } = await operationsPage(projectId, asked);
    return {
      count: items.length,
      lastId: items.at(-1)?.id ?? null,
      cursor,
    };
  },
});

/** Returns the same list with some rows that cannot be read. */
export function unreadableIn({ operationsPage }: Lister, odd: ReadonlySet<string>): WalkedClient {
  return {
    async operationsPage(projectId, asked) {
      const page = await operationsPage(projectId, asked);
      const rejected = [...page.items.entries()]
        .filter(([, { id }]) => odd.has(id))
        .map(([index, { id }]) => ({ index, id, why: 'odd', record: null }));
      return { ...page, items: page.items.filter(({ id }) => !odd.has(id)), rejected };
    },
    async operationsPageEnd(projectId, asked) {
      const { items, cursor } = await operationsPage(projectId, asked);
      const last = items.at(-1);
      return { count: items.length, lastId: last === undefined || odd.has(last.id) ? null : last.id, cursor };
    },
  };
}

/** Returns the same client, except that the first end of each page belongs to a row that the page lacks. This happens where rows come and go. */
export function unsteadyEnds({ operationsPage, operationsPageEnd }: WalkedClient): WalkedClient {
  const seen = new Set<string>();
  return {
    operationsPage,
    async operationsPageEnd(projectId, asked) {
      const page = await operationsPageEnd(projectId, asked);
      const cursor = String(asked?.cursor);
      return seen.has(cursor) ? page : (seen.add(cursor), { ...page, lastId: 'another' });
    },
  };
}

export const instant = (second: number) => new Date(Date.UTC(2026, 0, 1) - second * 1000).toISOString();
export const rowsAt = (seconds: number[]): Row[] =>
  seconds.map((second, index) => ({ id: String(index), createdAt: instant(second) }));
export const inGroups = (count: number, group: number) =>
  rowsAt(Array.from({ length: count }, (_, index) => Math.floor(index / group)));
export const idsOf = (pages: WalkedPage[]) =>
  new Set(pages.flatMap(({ operations }) => operations.map(({ id }) => id)));
export const unprovedOf = (pages: WalkedPage[]) => pages.flatMap(({ unprovedAt }) => unprovedAt ?? []);

/** Returns whether the pages' proofs cover a time. It assumes that the walk began at the newest instant and that no row is late. */
export function claims(pages: WalkedPage[], at: string): boolean {
  return pages.some((page) => {
    const asked = { createdAt: instant(10_000), walkedAt: null, settleMs: 0 };
    const proof = page.isWhole ? proofOf({ ...page, beganAt: instant(-1) }, asked) : null;
    if (proof === null || compareInstants(at, proof.below) >= 0) return false;
    return compareInstants(at, proof.from) >= (proof.isFromIncluded ? 0 : 1);
  });
}
