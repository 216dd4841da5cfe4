import { flushCompileCache } from 'node:module';

/**
 * Makes this process a crash process: it tells its parent that it is ready, does the work of the one order that it gets, and exits with 0, or with 1 if the
 * work fails. It exits when its parent exits. It keeps the compiled code of its modules first: a killed process would compile them each time.
 */
export function workOnOrder(work: (order: never) => Promise<void>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', (order) => {
    // Parent and child are one test.
    work(order as never).then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error); // shown with TEST_VERBOSE=1
        process.exit(1);
      },
    );
  });
  flushCompileCache();
  process.send?.('ready');
}
