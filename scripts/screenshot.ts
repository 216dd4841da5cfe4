import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@keywarden/testkit';
import { openBrowser } from '@keywarden/testkit/report/browser';

// Makes the picture of the README: `node scripts/screenshot.ts` starts everything with a sandbox of its own, waits for the first plan, and saves the
// overview of the dashboard.

const picture = new URL('../docs/images/overview.png', import.meta.url);
const longestMs = 300_000;

const data = mkdtempSync(join(tmpdir(), 'keywarden-picture-'));
const child = spawn(process.execPath, [fileURLToPath(new URL('start.ts', import.meta.url))], {
  env: {
    ...process.env,
    KEYWARDEN_DATA: data,
    DATABASE_URL: '',
    CONTROL_PLANE_URL: '',
    SANDBOX_PORT: '0',
    REPORT_PORT: '0',
    DAEMON_PORT: '0',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
try {
  const url = await until(() => /Report\s+(http:\S+)/.exec(output)?.[1], { withinMs: longestMs });
  const token = readFileSync(join(data, 'report-token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}` };
  await until(
    async () => {
      const answer = await fetch(`${url}/v1/plans?limit=1`, { headers });
      return (await answer.text()).includes('"sha256"');
    },
    { withinMs: longestMs },
  );
  const browser = await openBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
  await page.goto(`${url}/`);
  await page.getByLabel('Report token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${url}/`);
  await page.waitForLoadState('networkidle');
  mkdirSync(new URL('.', picture), { recursive: true });
  await page.screenshot({ path: fileURLToPath(picture) });
  await browser.close();
} finally {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
  rmSync(data, { recursive: true, force: true });
}
