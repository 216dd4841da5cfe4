import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('moved-clock.c', import.meta.url));
const library = fileURLToPath(new URL('../../../../node_modules/.keywarden-moved-clock.so', import.meta.url));

/**
 * Moves the clock of all processes that this one starts from now on, Postgres included, to a time such as `2028-02-29T23:50:00Z`, or by days such as
 * `+200d`. The clock then runs on. A test with a fixed date fails on some day; this shows it before. Programs that do not use the C library, such as those
 * in Go, keep the clock of the machine. It compiles a library: libfaketime does not move the clock in handlers of signals, and Postgres reads it there.
 */
export function moveClock(text: string | undefined): void {
  if (!text) return;
  const days = /^[+-]\d+(?=d$)/.exec(text)?.[0];
  const byMs = days === undefined ? Date.parse(text) - Date.now() : Number(days) * 86_400_000;
  if (Number.isNaN(byMs))
    throw new Error(
      `TEST_DATE must be a time such as 2028-02-29T23:50:00Z or days such as +200d, and "${text}" is not`,
    );
  const made = `${library}.${process.pid}`;
  const seconds = `-DSECONDS=(${Math.round(byMs / 1000)})`;
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O1', seconds, '-o', made, source, '-ldl'], {
    encoding: 'utf8',
  });
  if (status !== 0)
    throw new Error(
      `TEST_DATE needs Linux and a compiler, cc; on Debian, install it with apt-get install gcc libc6-dev. ${stderr ?? ''}`,
    );
  renameSync(made, library);
  process.env.LD_PRELOAD = library;
}
