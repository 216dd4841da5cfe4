import {
  browser,
  fixture,
  hasBrowser,
  mainText,
  signIn,
  url,
  useBrowser,
} from '@keywarden/testkit/report/browser-fixture';
import { describe, expect, test } from 'vitest';

describe.runIf(hasBrowser)('in a browser', () => {
  useBrowser();
  test('a review that is signed in two tabs is signed once, and the other tab leads to it', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await signIn(page, 'operator');
    await page.goto(`${url}/reviews`);
    await page.getByLabel('Title').fill('Autumn');
    await page.getByRole('button', { name: 'Open review' }).click();
    await page.getByLabel('Select all keys on this page').check();
    await page.getByRole('radio', { name: 'keep' }).check();
    await page.getByLabel('Reason').fill('asked the owners');
    await page.getByRole('button', { name: 'Decide' }).click();
    expect(await mainText(page)).toContain('Your decision is recorded.');

    // The page says once what its form has done.
    const review = page.url();
    expect(review).toMatch(/\/reviews\/\d+\?decision=undecided$/);
    await page.reload();
    expect(await mainText(page)).not.toContain('Your decision is recorded.');

    const other = await context.newPage();
    await other.goto(review);
    for (const tab of [page, other]) {
      await tab.getByLabel('3 to keep, 0 to rotate, 0 to revoke').check();
      await tab.getByRole('button', { name: 'Sign the review' }).click();
    }
    expect(await mainText(page)).toContain('The review is signed');
    expect(await mainText(other)).toContain('The review is already signed.');
    await other.getByRole('link', { name: 'Open the page again' }).click();
    expect(other.url()).toBe(review);
    expect(await mainText(other)).toContain('SHA-256 of its document');
    const [row] = await fixture.store.sql`select count(*)::int as n from keywarden.review_signature`;
    expect(row?.n).toBe(1);
    await context.close();
  });

  test('a file that cannot be made is answered with a page, and to a program with a problem', async () => {
    const page = await browser.newPage();
    await signIn(page, 'auditor');
    await page.goto(`${url}/evidence`);
    const form = page.locator('main form').last();
    await form.getByLabel('From').fill('2026-03-31');
    await form.getByLabel('To, included').fill('2026-01-01');
    await form.getByRole('button', { name: 'Download' }).click();
    await page.waitForURL(/\/v1\/evidence\?/);
    expect(await mainText(page)).toMatch(/^Keywarden Bad parameter from.* Go to the overview/);
    const program = { authorization: `Bearer ${fixture.tokens.auditor}`, accept: 'text/html' };
    const answer = await fetch(page.url(), { headers: program });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/problem+json']);
    await page.close();
  });
});
