// The daily budget table: the bounds of a campaign's daily cost, in whole currency units. Before advertising live,
// operators should check it against the ad platform's own bounds. `step` is the currency's smallest amount.

export const campaignTypes = ['SMART', 'PERFORMANCE_MAX'] as const;
export type CampaignType = (typeof campaignTypes)[number];

export interface BudgetRow {
  /** The minimum daily budget for each campaign type. */
  readonly min: Readonly<Record<CampaignType, number>>;
  readonly max: number;
  readonly step: number;
}

const row = (smart: number, performanceMax: number, max: number, step = 0.01): BudgetRow => ({
  min: { SMART: smart, PERFORMANCE_MAX: performanceMax },
  max,
  step,
});

export const budgets = {
  USD: row(3, 5, 10_000),
  EUR: row(3, 5, 10_000),
  GBP: row(3, 5, 8_000),
  CHF: row(3, 5, 9_000),
  CAD: row(4, 7, 14_000),
  AUD: row(5, 8, 15_000),
  NZD: row(5, 8, 16_000),
  SEK: row(30, 50, 100_000),
  NOK: row(30, 50, 100_000),
  DKK: row(20, 35, 70_000),
  PLN: row(12, 20, 40_000),
  CZK: row(70, 115, 230_000),
  JPY: row(450, 750, 1_500_000, 1),
  INR: row(250, 420, 850_000),
  BRL: row(16, 27, 55_000),
  MXN: row(55, 90, 180_000),
  ZAR: row(55, 90, 180_000),
  ILS: row(11, 18, 37_000),
  SGD: row(4, 7, 13_500),
  HKD: row(23, 39, 78_000),
  AED: row(11, 18, 36_000),
  KRW: row(4_000, 7_000, 14_000_000, 1),
} as const satisfies Record<string, BudgetRow>;

/** A currency that campaign budgets support. */
export type Currency = keyof typeof budgets;

export const isCurrency = (code: string): code is Currency => Object.hasOwn(budgets, code);
