import type { OpenAPIHono } from '@hono/zod-openapi';
import { endSession, openSession } from '@keywarden/db/report';
import type { Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { checkToken, cookieNameOf, describeAccess, findPrincipal, requireOwnOrigin } from '../access/authenticate.ts';
import { toProblem } from '../problem.ts';
import type { Env, Services } from '../services.ts';
import { renderPlain } from './layout.ts';
import { readField, readSent } from './page.ts';

/** 12 hours, about a working day; then the user signs in again. The store ends the session at the same time. */
const signedInSeconds = 12 * 3600;

const late = 'You were signed out before you sent the form, so nothing was done. Sign in, and send it again.';

/** Adds sign-in with a token, which opens a session whose id is kept in an HttpOnly cookie, and sign-out, which ends it. */
export function signInPages(app: OpenAPIHono<Env>, services: Services): void {
  const { accessSql, accessLog } = services;
  app.get('/sign-in', (c) =>
    c.html(renderSignIn(c.req.query('next'), c.req.query('unsent') === 'true' ? late : undefined)),
  );
  app.post('/sign-in', async (c) => {
    requireOwnOrigin(c);
    const form = await readSent(c);
    const next = readField(form, 'next');
    const principal = await checkToken(c, readField(form, 'token'), { ...services, event: 'sign_in_failed' });
    if (principal === undefined) return c.html(renderSignIn(next, 'This token is not valid.'), 401);
    const { credential } = principal;
    // A session is a row for good, so it counts among the requests of its token.
    const session = await services.limits
      .run(c.req.raw, principal.token, async () => {
        await accessLog.record(describeAccess(c, { status: 303, event: 'sign_in', credential }));
        const agent = c.req.header('user-agent') ?? '';
        return await openSession(accessSql, { principal, address: c.get('address'), agent });
      })
      .catch(async (error: unknown) => {
        const { status } = toProblem(error);
        await accessLog.record(describeAccess(c, { status, event: 'sign_in_failed', credential }));
        throw error;
      });
    setCookie(c, cookieNameOf(c), session, cookieOptions(c, signedInSeconds));
    return c.redirect(ownPath(next), 303);
  });
  app.post('/sign-out', async (c) => {
    const principal = await findPrincipal(c, services);
    requireOwnOrigin(c);
    if (principal?.session != null) {
      c.set('principal', principal);
      await accessLog.record(describeAccess(c, { status: 303, event: 'sign_out' }));
      await endSession(accessSql, principal);
    }
    deleteCookie(c, cookieNameOf(c), cookieOptions(c, 0));
    return c.redirect('/sign-in', 303);
  });
}

function cookieOptions(c: Context<Env>, maxAge: number) {
  return { httpOnly: true, sameSite: 'Strict', secure: c.get('isHttps'), path: '/', maxAge } as const;
}

/**
 * Returns `next` as it is written in a URL if it is a path of this site, otherwise `/`. A link can then neither redirect a user to another site nor
 * put control characters into a header.
 */
function ownPath(next: string): string {
  const here = 'http://here';
  if (!next.startsWith('/') || next.length > 2000 || !URL.canParse(next, here)) return '/';
  const { origin, pathname, search, hash } = new URL(next, here);
  // Two slashes begin the name of another site.
  return origin === here && !pathname.startsWith('//') ? pathname + search + hash : '/';
}

function renderSignIn(next = '/', problem?: string) {
  return renderPlain(
    'Sign in',
    html`<form class="forms" method="post" action="/sign-in">
      ${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
      <div class="field">
        <label for="token">Report token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      </div>
      <input type="hidden" name="next" value="${next}" />
      <button type="submit">Sign in</button>
      <p class="fine">Create a token with <code>keywarden token create</code>. <a href="/docs">Read the API documentation.</a></p>
    </form>`,
  );
}
