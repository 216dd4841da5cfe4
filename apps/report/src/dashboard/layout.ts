import type { Principal } from '@keywarden/db/report';
import { printableHtml } from '@keywarden/runtime';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { Problem } from '../problem.ts';
import type { Html, Part } from './html.ts';

/** The groups of the menu: the title of each page by its address. */
const menu: Record<string, Record<string, string>> = {
  Now: { '/': 'Overview' },
  Keys: {
    '/keys': 'Keys',
    '/credentials': 'Other credentials',
    '/findings': 'Findings',
    '/plans': 'Plans',
    '/exemptions': 'Exemptions',
    '/reviews': 'Reviews',
    '/campaigns': 'Campaigns',
  },
  Activity: { '/revocations': 'Revocations', '/rotations': 'Rotations', '/incidents': 'Incidents' },
  Archive: { '/operations': 'Operations', '/projects': 'Projects', '/coverage': 'Coverage' },
  Audit: {
    '/evidence': 'Exports and evidence',
    '/ledger/events': 'Ledger',
    '/connections': 'Connections',
    '/runs': 'Sync runs',
    '/access-log': 'Access log',
    '/sessions': 'Sessions',
  },
};

export interface Page {
  title: string;
  body: Part;
  /** The flash message for the last action. */
  notice?: string | undefined;
}

/** Returns a page for a signed-in user, with a menu of what they may open. `nowMs`: the report's clock, in ms since 1970. */
export function renderPage(
  principal: Principal,
  path: string,
  { title, body, notice, nowMs, mayOpen }: Page & { nowMs: number; mayOpen: (href: string) => boolean },
): Promise<string> {
  const current = (href: string) => (href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`));
  const groups = Object.entries(menu)
    .map(([title, pages]) => ({ title, pages: Object.entries(pages).filter(([href]) => mayOpen(href)) }))
    .filter(({ pages }) => pages.length > 0);
  return renderDocument(
    title,
    html`<a class="skip" href="#main">Skip to content</a>
      <header class="bar">
        <a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="24" height="24" /> Keywarden</a>
        <details class="menu">
          <summary>Menu</summary>
          <nav aria-label="Pages">
            ${groups.map(
              (group) => html`<div class="group">
                <span class="group-title">${group.title}</span>
                <ul>
                  ${group.pages.map(
                    ([href, text]) =>
                      html`<li><a href="${href}" ${current(href) ? html`aria-current="page"` : ''}>${text}</a></li>`,
                  )}
                </ul>
              </div>`,
            )}
          </nav>
        </details>
        <div class="who">
          <span
            >${principal.name} <small>${principal.role}</small>${principal.organizations === null ? '' : html` <small>sees only ${principal.organizations.join(', ')}</small>`}</span
          >
          <form method="post" action="/sign-out"><button class="quiet" type="submit">Sign out</button></form>
        </div>
      </header>
      <main id="main" tabindex="-1">
        <h1>${title}</h1>
        ${notice === undefined ? '' : html`<p class="notice" role="status">${notice}</p>`} ${body}
        <p class="fine">All times are UTC.</p>
      </main>`,
    nowMs,
  );
}

/** Returns a page without a menu, for sign-in and errors. */
export function renderPlain(title: string, body: Part): Promise<string> {
  return renderDocument(
    title,
    html`<main id="main" class="plain">
      <p class="brand"><img src="/assets/icon.svg" alt="" width="32" height="32" /> Keywarden</p>
      <h1>${title}</h1>
      ${body}
    </main>`,
  );
}

async function renderDocument(title: string, body: Html, nowMs?: number): Promise<string> {
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} - Keywarden</title>
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="icon" href="/assets/icon.svg" />
        <script src="/assets/chart.js" defer></script>
        <script src="/assets/dashboard.js" defer></script>
      </head>
      <body ${nowMs === undefined ? '' : raw(`data-now="${nowMs}"`)}>
        ${body}
      </body>
    </html>`;
  return printableHtml(page.toString());
}

/** Returns whether the answer is shown to a person. That of the API is, if a link or a form of a page asks for a file there. */
export function wantsPage(c: Context): boolean {
  const isOpened = c.req.header('sec-fetch-mode') === 'navigate';
  return (isOpened || !/^\/(v1|api)\//.test(c.req.path)) && (c.req.header('accept') ?? '').includes('text/html');
}

/** Returns the address of the page that a form was sent from, without what a form before it did; the overview if the browser does not tell. */
export function sentFrom(c: Context): URL {
  const referer = c.req.header('referer') ?? '';
  const page = new URL(URL.canParse(referer) ? referer : '/', c.req.url);
  page.searchParams.delete('flash');
  return page;
}

/** Renders an error as a page. After a form whose page may have changed it leads to that page; a form to correct is where the browser goes back to. */
export function renderErrorPage(c: Context, { status, title, message, headers }: Problem) {
  const { pathname, search } = sentFrom(c);
  const isStale = c.req.method === 'POST' && (status === 409 || status === 500) && pathname !== '/';
  const body = html`<p>${message}</p>
    <p>
      ${isStale ? html`<a class="button" href="${pathname + search}">Open the page again</a>` : ''}
      <a class="button ${isStale ? 'quiet' : ''}" href="/">Go to the overview</a>
    </p>
    <p class="fine">Request ${c.get('requestId')}</p>`;
  return c.html(renderPlain(title, body), status, headers);
}
