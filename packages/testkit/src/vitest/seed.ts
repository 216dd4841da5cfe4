import * as fc from 'fast-check';

// Property tests draw new values in each run, and so find what earlier runs did not. With TEST_SEED they draw the same values in each run: a change is then
// judged by what it changed.
const { TEST_SEED: text = '' } = process.env;
if (text !== '') {
  const seed = Number(text);
  if (!Number.isInteger(seed)) throw new Error(`TEST_SEED must be a whole number, and "${text}" is not`);
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
}
