// Decides what each plan includes (docs/api/workspaces.md#plans): its gated features, rate-limit factor, monthly
// credits and storage quota.
import { Problem } from '../../kit/problem.ts';

/** Ordered from lowest to highest. */
export const plans = ['free', 'builder', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

export const rateFactors: Record<Plan, number> = { free: 1, builder: 1, pro: 3, business: 5, enterprise: 10 };

/** Null means unlimited. */
export const monthlyCredits: Record<Plan, number | null> = {
  free: 25,
  builder: 250,
  pro: 1000,
  business: 5000,
  enterprise: null,
};

const gigabyte = 1_000_000_000;

/** The combined quota for records, app files and export archives, in bytes. Null means unlimited. */
export const storageQuotas: Record<Plan, number | null> = {
  free: 0.5 * gigabyte,
  builder: 5 * gigabyte,
  pro: 20 * gigabyte,
  business: 100 * gigabyte,
  enterprise: null,
};

const lowestPlan = {
  agent_webhooks: 'builder',
  workflows: 'builder',
  connectors: 'builder',
  admin_role: 'business',
  member_credit_limits: 'business',
} as const satisfies Record<string, Plan>;

export type GatedFeature = keyof typeof lowestPlan;
export const gatedFeatures = Object.keys(lowestPlan) as GatedFeature[];

/** Returns the lowest plan that includes the feature, or undefined if `plan` already does. */
export function findRequiredPlan(plan: Plan, feature: GatedFeature): Plan | undefined {
  const lowest = lowestPlan[feature];
  return plans.indexOf(plan) < plans.indexOf(lowest) ? lowest : undefined;
}

/** Returns the 402 if `plan` does not include the feature. */
export function findPlanRefusal(plan: Plan, feature: GatedFeature): Problem | undefined {
  const required_plan = findRequiredPlan(plan, feature);
  if (required_plan === undefined) return undefined;
  return new Problem(
    'payment_required',
    'plan_required',
    `This requires the ${required_plan} plan or higher. Ask the operator to change the workspace's plan.`,
    {
      members: { required_plan },
    },
  );
}
