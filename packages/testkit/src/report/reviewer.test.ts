import { readFileSync } from 'node:fs';
import { enforce, syncKeys } from '@keywarden/daemon';
import { fixture, prepare, revokedNames, store, useApplyFixture } from '@keywarden/testkit/daemon/apply-fixture';
import { makeApp } from '@keywarden/testkit/report/app';
import { openBrowser } from '@keywarden/testkit/report/browser';
import { hasBrowser } from '@keywarden/testkit/report/browser-fixture';
import { listen } from '@keywarden/testkit/report/served';
import { makeToken } from '@keywarden/testkit/store/principal';
import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';

// A reviewer's whole task, with the report, a daemon and the sandbox: from the sign-in to the evidence of what was revoked.

useApplyFixture();

/** Makes one pass of the daemon. */
async function pass() {
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  return await enforce(fixture.context, fixture.connections);
}

/** Serves the report over the daemon's store. */
async function serveReport() {
  return await listen((await makeApp(store)).app);
}

test.runIf(hasBrowser)(
  'a reviewer decides about fourteen keys of an organization, signs, approves, and gets the evidence, in twelve clicks and without typing an id',
  async () => {
    const names = Array.from({ length: 14 }, (_, index) => `idle-${index + 1}`);
    await prepare([...names, 'busy']);
    await pass();
    const { secret } = await makeToken(store, 'olga', 'operator');
    const server = await serveReport();
    const browser = await openBrowser();
    try {
      const page = await browser.newPage({ acceptDownloads: true });
      let clicks = 0;
      const click = async (what: Locator) => {
        clicks += 1;
        await what.click();
      };
      const button = (name: string | RegExp) => page.getByRole('button', { name });
      await page.goto(`${server.url}/reviews`);
      await page.getByLabel('Report token').fill(secret);
      await click(button('Sign in'));
      await page.getByLabel('Title').fill('Second half of 2026');
      // A choice from a list counts as a click.
      clicks += 1;
      await page.getByLabel('Organization').selectOption({ index: 1 });
      await page.getByLabel('Idle for over').fill('30d');
      await click(button('Open review'));
      expect(await page.locator('main tbody tr').count()).toBe(14);
      await click(page.getByLabel('Select all keys on this page'));
      await click(page.getByLabel('revoke', { exact: true }));
      await page.getByLabel('Reason').fill('unused since the launch');
      await click(button('Decide'));
      await page.goto(page.url().split('?')[0] ?? '');
      await click(page.getByLabel('14 to revoke'));
      await click(button('Sign the review'));
      await pass();
      await page.reload();
      await click(button('Make the plan of this review'));
      expect(await page.locator('h1').innerText()).toMatch(/^Plan p-\w+, a part of p-\w+$|^Plan p-\w+$/);
      await click(page.getByLabel('14 keys are revoked for good'));
      await click(button(/^Approve plan/));
      expect((await pass()).approved.map(({ items }) => items.length)).toEqual([14]);
      expect((await revokedNames()).toSorted()).toEqual(names.toSorted());
      const downloading = page.waitForEvent('download');
      await click(page.getByRole('link', { name: 'Evidence of the last year' }));
      const pack = await downloading;
      expect(pack.suggestedFilename()).toMatch(/^keywarden-evidence-all-/);
      // A zip archive.
      expect(
        readFileSync(await pack.path())
          .subarray(0, 2)
          .toString(),
      ).toBe('PK');
      expect(clicks).toBe(12);
    } finally {
      await browser.close();
      await server.close();
    }
  },
);
