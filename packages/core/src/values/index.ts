export { addDays, type DayRange, dayMs, dayNumbered, dayOf, daysOf, monthOf, monthsOf, startOfDay } from './days.ts';
export { canonicalJson, endOfString, sha256 } from './json.ts';
export { clientNetwork, isNetwork, makeGlobTest, makeNetworkTest, secretForm } from './patterns.ts';
export * from './time.ts';
export { type Camelled, countOf, daysInWords, someOf, toCamel } from './words.ts';
