import { saveKeyListing } from '@keywarden/db/daemon';
import { violations, watch } from '@keywarden/testkit/report/browser';
import {
  browser,
  fixture,
  hasBrowser,
  mainText,
  signIn,
  url,
  useBrowser,
} from '@keywarden/testkit/report/browser-fixture';
import { makeWireKey } from '@keywarden/testkit/store/rows';
import { describe, expect, test } from 'vitest';

describe.runIf(hasBrowser)('in a browser', () => {
  useBrowser();

  test('10,000 keys can be paged, sorted and filtered', async () => {
    const keys = Array.from({ length: 10_000 }, (_, index) =>
      makeWireKey(String(20_000 + index), {
        name: `service ${String(index).padStart(5, '0')}`,
        createdBy: { id: 'eve', name: 'Eve' },
      }),
    );
    const at = '2026-06-01T00:20:00Z';
    const listing = {
      controlPlane: '1',
      scope: 'organization:big',
      organizationId: 'big',
      connection: 'main',
      run: null,
    };
    await saveKeyListing(fixture.daemon.sql, { ...listing, listedAt: at, begunAt: at, keys });
    const page = await browser.newPage();
    const complaints = watch(page, url);
    await signIn(page, 'viewer');
    expect(await mainText(page)).toContain('10,003 live keys');
    await page.goto(`${url}/keys?organization_id=big`);
    await page.getByRole('link', { name: 'Sort by Name' }).click();
    await page.getByRole('link', { name: 'Sort by Name' }).click();
    expect(await page.locator('main tbody tr').first().innerText()).toContain('service 09999');
    await page.getByRole('link', { name: 'Next page' }).click();
    expect(await page.locator('main tbody tr').first().innerText()).toContain('service 09949');
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
