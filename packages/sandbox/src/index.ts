export type { Company, CompanyCounts } from './generate.ts';
export { documentedLimits, type Limits, noLimits } from './limits.ts';
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
