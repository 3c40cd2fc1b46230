// Owns what each plan gives (contract §2.6): the lowest plan per gated feature, and the rate factor.
import { Problem } from '../../kit/problem.ts';

export const plans = ['free', 'builder', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

export const rateFactors: Record<Plan, number> = { free: 1, builder: 1, pro: 3, business: 5, enterprise: 10 };

export const monthlyCredits: Record<Plan, number | null> = {
  free: 25,
  builder: 250,
  pro: 1000,
  business: 5000,
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

/** The plan a feature needs, when `plan` does not reach it. */
export function findRequiredPlan(plan: Plan, feature: GatedFeature): Plan | undefined {
  const lowest = lowestPlan[feature];
  return plans.indexOf(plan) < plans.indexOf(lowest) ? lowest : undefined;
}

/** 402 when `plan` does not reach the feature. */
export function findPlanRefusal(plan: Plan, feature: GatedFeature): Problem | undefined {
  const required_plan = findRequiredPlan(plan, feature);
  if (required_plan === undefined) return undefined;
  return new Problem('payment_required', 'plan_required', `This needs the ${required_plan} plan or higher.`, {
    members: { required_plan },
  });
}
