import { Buffer } from 'node:buffer';
import type { Hono } from 'hono';
import { requireProjectId } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { readLimit, readPath } from '../http/query.ts';
import { operationColumns, operationJson, renderOperation, retentionStart } from '../resources/operations.ts';
import type { Env, State } from '../state.ts';
import { formatCursor, formatInstant, formatWholeSecond, parseInstant } from '../store/time.ts';

export function operationRoutes(api: Hono<Env>, { db, clock }: State): void {
  api.get('/projects/:project_id/operations', (c) => {
    const projectId = requireProjectId(c);
    const { settings } = c.get('state');
    const limit = readLimit(c, { max: 1000, fallback: 100 });
    const cursor = c.req.query('cursor');
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : parseInstant(cursor);
    if (before === undefined) throw new Refusal(400, 'invalid cursor');
    const rows = db.arrays(
      `select ${operationColumns} from operation where project_id = ? and created_at < ? and created_at >= ? and visible_at is null
       order by created_at desc, seq desc limit ?`,
      projectId,
      before,
      retentionStart(clock.now()),
      limit,
    );
    const last = rows.at(-1);
    const hasCursor = last !== undefined && (rows.length === limit || settings.pagination === 'every_page');
    const pagination = hasCursor ? `,"pagination":{"cursor":"${formatCursor(Number(last[1]))}"}` : '';
    const format = settings.times === 'seconds' ? formatWholeSecond : formatInstant;
    c.set('timesAreRendered', true);
    const list = rows.map((row) => operationJson(row, format));
    return c.body(encodeList(`{"operations":[`, list, `]${pagination}}`), 200, { 'content-type': 'application/json' });
  });

  api.get('/projects/:project_id/operations/:operation_id', (c) => {
    const projectId = requireProjectId(c);
    const [row] = db.arrays(
      `select ${operationColumns} from operation where project_id = ? and id = ? and created_at >= ? and visible_at is null`,
      projectId,
      readPath(c, 'operation_id'),
      retentionStart(clock.now()),
    );
    return c.json({ operation: renderOperation(found(row, 'operation not found')) });
  });
}

const itemsAtOnce = 100;

/** Returns the bytes of a list. V8 allocates pages of its own for each text over 128 kB, which takes longer than to write the text. */
function encodeList(head: string, items: string[], tail: string): Buffer<ArrayBuffer> {
  const parts = [Buffer.from(head)];
  for (let at = 0; at < items.length; at += itemsAtOnce)
    parts.push(Buffer.from(`${at === 0 ? '' : ','}${items.slice(at, at + itemsAtOnce).join(',')}`));
  return Buffer.concat([...parts, Buffer.from(tail)]);
}
