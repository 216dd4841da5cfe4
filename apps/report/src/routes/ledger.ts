import { parseTilePath } from '@keywarden/core/ledger';
import { readBundle, readSignedTree, readTile } from '@keywarden/db/report';
import { Hono, type MiddlewareHandler } from 'hono';
import { allowWhole, permitted } from '../access/roles.ts';
import { Problem } from '../problem.ts';
import type { Env, Services } from '../services.ts';

// The ledger as other tools read it: c2sp.org/tlog-tiles.

const octets = { 'content-type': 'application/octet-stream' };
/** A full tile never changes. */
const forever = 'private, max-age=31536000, immutable';

/** Serves the newest checkpoint, the tiles, and the bundles of entries and of their contents. `checks` authenticates a request, unless it is for an open checkpoint. */
export function ledgerRoutes(
  { db, opensCheckpoint }: Pick<Services, 'db' | 'opensCheckpoint'>,
  checks: MiddlewareHandler<Env>,
): Hono<Env> {
  const app = new Hono<Env>();
  const mayRead = permitted(allowWhole('auditor'));
  const open: MiddlewareHandler<Env> = async (_c, next) => await next();
  app.get('/checkpoint', opensCheckpoint ? open : checks, opensCheckpoint ? open : mayRead, async (c) => {
    const tree = await readSignedTree(db);
    if (tree === null) throw new Problem(404, 'Not found', 'The ledger has no signed checkpoint yet.');
    const caching = opensCheckpoint ? 'no-cache' : 'private, no-cache';
    return c.body(tree.note, 200, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': caching });
  });
  app.get('/tile/*', checks, mayRead, async (c) => {
    const tile = parseTilePath(c.req.path.replace(/^\/ledger\//, ''));
    if (tile === null) throw new Problem(404, 'Not found', 'This is no path of a tile; c2sp.org/tlog-tiles has them.');
    const { level, index, width } = tile;
    const bytes =
      typeof level === 'string'
        ? await readBundle(db, { level, index, width })
        : await readTile(db, { level, index, width });
    if (bytes === null) throw new Problem(404, 'Not found', 'The ledger does not have this tile, or not this wide.');
    return c.body(new Uint8Array(bytes), 200, { ...octets, 'cache-control': forever });
  });
  return app;
}
