import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Problem } from '../problem.ts';
import { renderPlain } from './layout.ts';

/** Whether a person in a browser asked, and not a program. */
export function wantsPage(c: Context): boolean {
  return !/^\/(v1|api)\//.test(c.req.path) && (c.req.header('accept') ?? '').includes('text/html');
}

/** An error as a page. */
export function renderErrorPage(c: Context, { status, title, message, headers }: Problem) {
  const body = html`<p>${message}</p>
    <p><a class="button" href="/">To the overview</a></p>
    <p class="fine">Request ${c.get('requestId')}</p>`;
  return c.html(renderPlain(title, body), status, headers);
}
