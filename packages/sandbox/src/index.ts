export { documentedLimits, type Limits, noLimits } from './access/limits.ts';
export type { CompanyCounts } from './generate/company.ts';
export type { Company } from './generate/organizations.ts';
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
export { createRandom, type Random, seedOf } from './store/random.ts';
