// Owns what each plan includes (docs/api/workspaces.md#plans): the lowest plan per gated feature, the factor of rate
// limits, the monthly credits and the storage quota.
import { Problem } from '../../kit/problem.ts';

/** From the lowest to the highest. */
export const plans = ['free', 'builder', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

export const rateFactors: Record<Plan, number> = { free: 1, builder: 1, pro: 3, business: 5, enterprise: 10 };

/** Null: unlimited. */
export const monthlyCredits: Record<Plan, number | null> = {
  free: 25,
  builder: 250,
  pro: 1000,
  business: 5000,
  enterprise: null,
};

const gigabyte = 1_000_000_000;

/** Bytes of records, app files and export archives together. Null: unlimited. */
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

/** The lowest plan that includes the feature, if `plan` does not. */
export function findRequiredPlan(plan: Plan, feature: GatedFeature): Plan | undefined {
  const lowest = lowestPlan[feature];
  return plans.indexOf(plan) < plans.indexOf(lowest) ? lowest : undefined;
}

/** The 402 for a feature that `plan` does not include. */
export function findPlanRefusal(plan: Plan, feature: GatedFeature): Problem | undefined {
  const required_plan = findRequiredPlan(plan, feature);
  if (required_plan === undefined) return undefined;
  return new Problem(
    'payment_required',
    'plan_required',
    `This requires the ${required_plan} plan or a higher one. Ask the operator to change the workspace's plan.`,
    {
      members: { required_plan },
    },
  );
}
