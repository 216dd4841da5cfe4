import { readFile } from 'node:fs/promises';
import { saveKeyListing } from '@keywarden/db/daemon';
import { watch } from '@keywarden/testkit/report/browser';
import {
  browser,
  fixture,
  hasBrowser,
  mainText,
  signIn,
  url,
  useBrowser,
} from '@keywarden/testkit/report/browser-fixture';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { makeWireKey } from '@keywarden/testkit/store/rows';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

describe.runIf(hasBrowser)('in a browser', () => {
  useBrowser();
  test('a form is sent once, until its page is shown again', async () => {
    const page = await browser.newPage();
    await signIn(page, 'operator');
    await page.goto(`${url}/keys/${fixture.keys['13']}`);
    // Whether the browser would send it.
    const submit = () =>
      page.evaluate(`document.querySelector('form[action$="/exemption"]')
      .dispatchEvent(new SubmitEvent('submit', { cancelable: true }))`);
    expect([await submit(), await submit(), await submit()]).toEqual([true, false, false]);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))");
    expect([await submit(), await submit()]).toEqual([true, false]);
    await page.close();
  });

  test('a user signs in, filters, opens a key, completes a review, approves a plan and downloads an export', async () => {
    const page = await browser.newPage();
    const complaints = watch(page, url);
    await signIn(page, 'operator');
    expect(await mainText(page)).toContain('3 live keys');

    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    expect(await mainText(page)).toContain('3 rows');
    await page.getByLabel('Kind').selectOption('project');
    await page.getByRole('button', { name: 'Filter' }).click();
    const rows = page.locator('main tbody tr');
    expect(await rows.count()).toBe(1);
    await page.getByRole('link', { name: 'key 12' }).click();
    expect(await mainText(page)).toContain('never used in the 151 days since it was created');
    await page.getByLabel('Reason').last().fill('until the move');
    await page.getByRole('button', { name: 'Exempt' }).click();
    expect(await mainText(page)).toContain('The exemption is granted.');
    expect(await mainText(page)).toContain('until the move');

    await page.getByRole('link', { name: 'Reviews' }).click();
    await page.getByLabel('Title').fill('Spring');
    await page.getByRole('button', { name: 'Open review' }).click();
    expect(await mainText(page)).toContain('0 of 3 decided');
    await page.getByLabel('Select all keys on this page').check();
    await page.getByRole('radio', { name: 'keep' }).check();
    await page.getByLabel('Reason').fill('asked the owners');
    await page.getByRole('button', { name: 'Decide' }).click();
    expect(await mainText(page)).toContain('3 of 3 decided');
    await page.getByLabel('3 to keep, 0 to rotate, 0 to revoke').check();
    await page.getByRole('button', { name: 'Sign the review' }).click();
    expect(await mainText(page)).toContain('SHA-256 of its document');
    expect(await page.getByRole('button', { name: 'Decide' }).count()).toBe(0);

    await page.getByRole('link', { name: 'Plans' }).click();
    await page.getByRole('link', { name: fixture.planId }).click();
    await page.getByLabel('1 key is revoked for good').check();
    await page.getByRole('button', { name: `Approve plan ${fixture.planId}` }).click();
    expect(await mainText(page)).toContain('You have approved it. The daemon carries it out in its next pass.');

    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'csv' }).click();
    const file = await (await downloading).path();
    expect(await readFile(file, 'utf8')).toMatch(/^number,control_plane[\s\S]+"# trailer /);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(`${url}/keys?kind=project`);
    expect(page.url()).toBe(`${url}/sign-in?next=${encodeURIComponent('/keys?kind=project')}`);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('the keyboard reaches the content, past the menu, and a filter', async () => {
    const page = await browser.newPage();
    await signIn(page, 'viewer');
    await page.goto(`${url}/keys`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('50%');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=50/);
    expect(await page.locator('main tbody tr').count()).toBe(1);
    await page.close();
  });

  test('each role sees only permitted pages; a wrong filter keeps its input; an error page links to the overview', async () => {
    const page = await browser.newPage();
    await signIn(page, 'acme');
    expect(await page.getByRole('link', { name: 'Plans' }).count()).toBe(0);
    expect(await mainText(page)).toContain('2 live keys');
    await page.goto(`${url}/keys/${fixture.keys['13']}`);
    expect(await mainText(page)).toContain('Not found');
    await page.goto(`${url}/plans`);
    expect(await mainText(page)).toContain('This spans all organizations');
    await page.goto(`${url}/keys?idle_for=long`);
    expect(await mainText(page)).toContain('Idle for over: is not a duration');
    // What was typed stays.
    expect(await page.getByLabel('Idle for over').inputValue()).toBe('long');
    await page.goto(`${url}/nowhere`);
    expect(await page.getByRole('link', { name: 'Go to the overview' }).count()).toBe(1);
    await page.close();
  });
});

describe('without a browser', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await makeFixture(inject('postgresUrl'));
  });
  afterAll(async () => await fixture.close());

  const post = async (path: string, form: Record<string, string> | string, headers: Record<string, string> = {}) =>
    await fixture.app.request(path, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { host: 'report.example', origin: 'http://report.example', ...headers },
    });

  test('signing in sets a cookie that scripts and other sites cannot use, and redirects only to pages of this site', async () => {
    const signIn = async (next: string) => await post('/sign-in', { token: fixture.tokens.viewer ?? '', next });
    const answer = await signIn('/keys?kind=project');
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/keys?kind=project');
    expect(answer.headers.get('set-cookie')).toMatch(
      /^keywarden_session=kws_[^;]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    for (const next of ['https://elsewhere.example', '//elsewhere.example', '/\\elsewhere.example', ''])
      expect((await signIn(next)).headers.get('location')).toBe('/');
    expect((await post('/sign-in', { token: 'kwr_wrong', next: '/' })).status).toBe(401);
    expect(
      (await post('/sign-in', { token: fixture.tokens.viewer ?? '' }, { origin: 'https://elsewhere.example' })).status,
    ).toBe(403);
  });

  test('the form of a part wants a choice: without one it makes no part of all keys', async () => {
    const cookie = `keywarden_session=${await fixture.signIn('operator')}`;
    const send = async (rule: string) =>
      await post(`/plans/${fixture.planId}/parts`, { organization_id: '', rule, review_id: '' }, { cookie });
    expect((await send('')).status).toBe(409);
    expect((await send('never-used')).status).toBe(303);
  });

  test('a form of another site has no effect, even with a signed-in user', async () => {
    const cookie = `keywarden_session=${await fixture.signIn('operator')}`;
    const approve = async (origin: string, body: Record<string, string> = { sure: 'on' }) =>
      await post(`/plans/${fixture.planId}/approve`, body, { cookie, origin });
    expect((await approve('https://elsewhere.example')).status).toBe(403);
    expect((await approve('http://report.example', {})).status).toBe(400);
    expect((await fixture.ask(`/v1/plans/${fixture.planId}`)).body.approvers).toBe(0);
    expect((await approve('http://report.example')).status).toBe(303);
    expect((await fixture.ask(`/v1/plans/${fixture.planId}`)).body.approvers).toBe(1);
  });

  test('a form with two values for one decision is refused, and decides nothing', async () => {
    const cookie = `keywarden_session=${await fixture.signIn('operator')}`;
    const answer = await post(`/plans/${fixture.planId}/reject`, 'reason=no&reason=yes', { cookie });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('reason: is given more than once.');
    expect((await fixture.ask(`/v1/plans/${fixture.planId}`)).body.rejected).toBe(false);
  });

  test('a filter that is given twice, and a sort that a list does not have, are refused', async () => {
    const cookie = `keywarden_session=${await fixture.signIn('viewer')}`;
    const statusOf = async (path: string) =>
      (await fixture.app.request(path, { headers: { cookie, accept: 'text/html' } })).status;
    expect(await statusOf('/keys?kind=project&kind=personal')).toBe(400);
    expect(await statusOf('/keys?sort=bogus')).toBe(400);
    expect(await statusOf('/keys?sort=name&kind=project')).toBe(200);
  });

  test('a link of another site does not say that the user has approved a plan', async () => {
    const cookie = `keywarden_session=${await fixture.signIn('operator')}`;
    const open = async (from: string) => {
      const headers = { cookie, accept: 'text/html', 'sec-fetch-site': from };
      return await (await fixture.app.request('/plans?flash=approved', { headers })).text();
    };
    expect(await open('same-origin')).toContain('role="status"');
    expect(await open('cross-site')).not.toContain('role="status"');
  });

  test('user-chosen names appear as text on a page, never as markup', async () => {
    const keys = [makeWireKey('77', { name: '<script>alert(1)</script><img src=x onerror=alert(2)>"' })];
    const at = '2026-06-01T00:20:00Z';
    const listing = {
      controlPlane: '1',
      scope: 'organization:odd',
      organizationId: 'odd"><b>',
      connection: 'main',
      run: null,
    };
    await saveKeyListing(fixture.daemon.sql, { ...listing, listedAt: at, begunAt: at, keys });
    const answer = await fixture.app.request('/keys?organization_id=odd%22%3E%3Cb%3E&flash=%3Cb%3E', {
      headers: { cookie: `keywarden_session=${await fixture.signIn('viewer')}`, accept: 'text/html' },
    });
    const text = await answer.text();
    expect(text).toContain('&lt;script&gt;alert(1)');
    expect(text).not.toMatch(/<script>|<img src=x|"><b>/);
  });

  test('each page visit and each form submission is recorded', async () => {
    const cookie = `keywarden_session=${await fixture.signIn('auditor')}`;
    await fixture.app.request('/coverage', { headers: { cookie } });
    await post('/reviews', { title: 'x', keep_for_days: '1' }, { cookie });
    await post('/plans/p-x/approve', {}, { cookie });
    const rows = await fixture.store
      .sql`select method, path, status from keywarden.access_log order by number desc limit 3`;
    expect(rows.map((row) => ({ ...row })).toReversed()).toEqual([
      { method: 'GET', path: '/coverage', status: 200 },
      { method: 'POST', path: '/reviews', status: 303 },
      { method: 'POST', path: '/plans/p-x/approve', status: 403 },
    ]);
  });

  test('the list of due items has the exemption that ends first, even if many were granted after it', async () => {
    const grant = async (lasting: string, reason: string) =>
      await fixture.ask('/v1/exemptions', {
        as: 'operator',
        method: 'POST',
        body: { keys: [fixture.keys['12']], reason, for: lasting },
      });
    await grant('9d', 'the first of many');
    for (let index = 0; index < 25; index += 1) await grant('300d', 'later');
    const answer = await fixture.app.request('/', {
      headers: { cookie: `keywarden_session=${await fixture.signIn('viewer')}` },
    });
    const text = await answer.text();
    expect(text).toContain('the first of many');
    expect(text).not.toContain('>later<');
  });

  test('a browser without sign-in is redirected to the sign-in page; a program gets a 401', async () => {
    expect((await fixture.app.request('/keys')).headers.get('location')).toBe('/sign-in?next=%2Fkeys');
    expect((await fixture.ask('/v1/keys', { as: null })).status).toBe(401);
  });
});
