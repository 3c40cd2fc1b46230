// The default currency for a new account: the currency of the workspace's country, if budgets support it.
import { budgets, type Currency, isCurrency } from '../budgets/table.ts';

const countries: Readonly<Record<Currency, string>> = {
  USD: 'US PR GU VI AS MP EC SV PA BQ TC VG FM MH PW TL',
  EUR: 'AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK AD MC SM VA ME XK GF GP MQ RE YT PM BL MF AX TF',
  GBP: 'GB IM JE GG',
  CHF: 'CH LI',
  CAD: 'CA',
  AUD: 'AU KI NR TV CX CC NF',
  NZD: 'NZ CK NU TK PN',
  SEK: 'SE',
  NOK: 'NO SJ',
  DKK: 'DK FO GL',
  PLN: 'PL',
  CZK: 'CZ',
  JPY: 'JP',
  INR: 'IN',
  BRL: 'BR',
  MXN: 'MX',
  ZAR: 'ZA',
  ILS: 'IL PS',
  SGD: 'SG',
  HKD: 'HK',
  AED: 'AE',
  KRW: 'KR',
};

const currencies = Object.keys(budgets).filter(isCurrency);

export const currencyOf = (countryCode: string, fallback: Currency): Currency =>
  currencies.find((currency) => countries[currency].split(' ').includes(countryCode)) ?? fallback;
