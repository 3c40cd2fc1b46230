// The judged list: queries as people type them, each with the place it means. The list is based on general
// knowledge, not on search results. Do not change an expectation to match a result.

export interface Judged {
  readonly query: string;
  /** The `country_code` parameter. */
  readonly within?: string;
  /**
   * Any of these names in this country matches, because GeoNames uses English names for some places and local names for
   * others.
   */
  readonly names: readonly string[];
  readonly country: string;
  /** The region's name within the canonical name, if several places have the same name. */
  readonly region?: string;
}

const means = (query: string, names: string, country: string, more: Partial<Judged> = {}): Judged => ({
  query,
  names: names.split('|'),
  country,
  ...more,
});

const inEnglish = [
  means('paris', 'Paris', 'FR'),
  means('london', 'London', 'GB'),
  means('berlin', 'Berlin', 'DE'),
  means('new york', 'New York|New York City', 'US'),
  means('los angeles', 'Los Angeles', 'US'),
  means('tokyo', 'Tokyo', 'JP'),
  means('munich', 'Munich|München', 'DE'),
  means('vienna', 'Vienna|Wien', 'AT'),
  means('rome', 'Rome|Roma', 'IT'),
  means('milan', 'Milan|Milano', 'IT'),
  means('moscow', 'Moscow', 'RU'),
  means('beijing', 'Beijing', 'CN'),
  means('cairo', 'Cairo', 'EG'),
  means('lagos', 'Lagos', 'NG'),
  means('mumbai', 'Mumbai', 'IN'),
  means('sydney', 'Sydney', 'AU'),
  means('toronto', 'Toronto', 'CA'),
  means('chicago', 'Chicago', 'US'),
  means('amsterdam', 'Amsterdam', 'NL'),
  means('lisbon', 'Lisbon|Lisboa', 'PT'),
  means('prague', 'Prague|Praha', 'CZ'),
  means('warsaw', 'Warsaw|Warszawa', 'PL'),
  means('copenhagen', 'Copenhagen|København', 'DK'),
  means('gothenburg', 'Gothenburg|Göteborg', 'SE'),
  means('geneva', 'Geneva|Genève', 'CH'),
  means('singapore', 'Singapore', 'SG'),
  means('hong kong', 'Hong Kong', 'HK'),
  means('istanbul', 'Istanbul|İstanbul', 'TR'),
  means('buenos aires', 'Buenos Aires|Buenos Aires F.D.', 'AR'),
  means('mexico city', 'Mexico City', 'MX'),
];

const withAccentsOrWithout = [
  means('münchen', 'Munich|München', 'DE'),
  means('munchen', 'Munich|München', 'DE'),
  means('MÜNCHEN', 'Munich|München', 'DE'),
  means('sao paulo', 'São Paulo', 'BR'),
  means('são paulo', 'São Paulo', 'BR'),
  means('zurich', 'Zürich|Zurich', 'CH'),
  means('zürich', 'Zürich|Zurich', 'CH'),
  means('dusseldorf', 'Düsseldorf', 'DE'),
  means('malaga', 'Málaga', 'ES'),
  means('cordoba', 'Córdoba|Cordova', 'AR'),
  means('bogota', 'Bogotá|Bogota', 'CO'),
  means('medellin', 'Medellín', 'CO'),
  means('montreal', 'Montréal|Montreal', 'CA'),
  means('quebec', 'Québec|Quebec|Quebec City', 'CA'),
  means('lodz', 'Łódź', 'PL'),
  means('krakow', 'Kraków', 'PL'),
  means('gdansk', 'Gdańsk', 'PL'),
  means('malmo', 'Malmö', 'SE'),
  means('tromso', 'Tromsø', 'NO'),
  means('aarhus', 'Århus|Aarhus', 'DK'),
  means('reykjavik', 'Reykjavík', 'IS'),
  means('izmir', 'İzmir|Izmir', 'TR'),
  means('saint-etienne', 'Saint-Étienne', 'FR'),
];

const withPunctuation = [
  means('st. louis', 'St. Louis', 'US'),
  means('st louis', 'St. Louis', 'US'),
  means('saint louis', 'St. Louis', 'US'),
  means("xi'an", "Xi'an|Xi’an", 'CN'),
  means("l'aquila", "L'Aquila", 'IT'),
  means("coeur d'alene", "Coeur d'Alene", 'US'),
  means('winston salem', 'Winston-Salem', 'US'),
  means('washington dc', 'Washington, D.C.|Washington', 'US'),
  means('aix en provence', 'Aix-en-Provence', 'FR'),
  means('stratford upon avon', 'Stratford-upon-Avon', 'GB'),
];

const inTheLocalLanguage = [
  means('wien', 'Vienna|Wien', 'AT'),
  means('köln', 'Köln|Cologne', 'DE'),
  means('cologne', 'Köln|Cologne', 'DE'),
  means('roma', 'Rome|Roma', 'IT'),
  means('milano', 'Milan|Milano', 'IT'),
  means('firenze', 'Florence|Firenze', 'IT'),
  means('napoli', 'Naples|Napoli', 'IT'),
  means('lisboa', 'Lisbon|Lisboa', 'PT'),
  means('praha', 'Prague|Praha', 'CZ'),
  means('warszawa', 'Warsaw|Warszawa', 'PL'),
  means('moskva', 'Moscow', 'RU'),
  means('sevilla', 'Sevilla|Seville', 'ES'),
  means('seville', 'Sevilla|Seville', 'ES'),
  means('den haag', 'The Hague|Den Haag', 'NL'),
  means('the hague', 'The Hague|Den Haag', 'NL'),
  means('bruxelles', 'Brussels|Bruxelles', 'BE'),
  means('kobenhavn', 'Copenhagen|København', 'DK'),
  means('athina', 'Athens|Athína', 'GR'),
  means('bucuresti', 'Bucharest|București', 'RO'),
  means('mailand', 'Milan|Milano', 'IT'),
  means('londres', 'London', 'GB'),
  means('bombay', 'Mumbai', 'IN'),
  means('peking', 'Beijing', 'CN'),
  means('kiev', 'Kyiv|Kiev', 'UA'),
  means('saigon', 'Ho Chi Minh City', 'VN'),
];

const inOtherScripts = [
  means('москва', 'Moscow', 'RU'),
  means('Санкт-Петербург', 'Saint Petersburg', 'RU'),
  means('київ', 'Kyiv|Kiev', 'UA'),
  means('αθήνα', 'Athens', 'GR'),
  means('東京', 'Tokyo', 'JP'),
  means('大阪', 'Osaka|Ōsaka', 'JP'),
  means('北京', 'Beijing', 'CN'),
  means('上海', 'Shanghai', 'CN'),
  means('서울', 'Seoul', 'KR'),
  means('القاهرة', 'Cairo', 'EG'),
  means('دبي', 'Dubai', 'AE'),
  means('تهران', 'Tehran', 'IR'),
  means('תל אביב', 'Tel Aviv', 'IL'),
  means('दिल्ली', 'Delhi', 'IN'),
  means('กรุงเทพ', 'Bangkok', 'TH'),
];

const withARegionOrCountry = [
  means('paris, texas', 'Paris', 'US', { region: 'Texas' }),
  means('paris tx', 'Paris', 'US', { region: 'Texas' }),
  means('paris france', 'Paris', 'FR'),
  means('nice france', 'Nice', 'FR'),
  means('toulouse, france', 'Toulouse', 'FR'),
  means('austin tx', 'Austin', 'US', { region: 'Texas' }),
  means('portland oregon', 'Portland', 'US', { region: 'Oregon' }),
  means('portland, maine', 'Portland', 'US', { region: 'Maine' }),
  means('springfield illinois', 'Springfield', 'US', { region: 'Illinois' }),
  means('springfield', 'Springfield', 'US', { within: 'US' }),
  means('birmingham', 'Birmingham', 'US', { within: 'US' }),
  means('birmingham uk', 'Birmingham', 'GB'),
  means('cambridge', 'Cambridge', 'GB', { within: 'GB' }),
  means('cambridge massachusetts', 'Cambridge', 'US', { region: 'Massachusetts' }),
  means('valencia', 'Valencia', 'ES', { within: 'ES' }),
  means('london ontario', 'London', 'CA'),
  means('frankfurt', 'Frankfurt am Main', 'DE'),
  means('frankfurt am main', 'Frankfurt am Main', 'DE'),
  means('frankfurt germany', 'Frankfurt am Main', 'DE'),
  means('halle', 'Halle (Saale)|Halle', 'DE', { within: 'DE' }),
  means('georgia', 'Georgia', 'US', { within: 'US' }),
  means('new york ny', 'New York|New York City', 'US'),
  means('munich germany', 'Munich|München', 'DE'),
  means('münchen germany', 'Munich|München', 'DE'),
  means('bombay india', 'Mumbai', 'IN'),
];

const countriesAndRegions = [
  means('germany', 'Germany', 'DE'),
  means('deutschland', 'Germany', 'DE'),
  means('france', 'France', 'FR'),
  means('usa', 'United States', 'US'),
  means('united states', 'United States', 'US'),
  means('uk', 'United Kingdom', 'GB'),
  means('united kingdom', 'United Kingdom', 'GB'),
  means('holland', 'Netherlands', 'NL'),
  means('españa', 'Spain', 'ES'),
  means('brasil', 'Brazil', 'BR'),
  means('turkey', 'Türkiye|Turkey', 'TR'),
  means('ivory coast', "Côte d'Ivoire|Ivory Coast", 'CI'),
  means('日本', 'Japan', 'JP'),
  means('россия', 'Russia', 'RU'),
  means('bavaria', 'Bavaria', 'DE'),
  means('bayern', 'Bavaria|Bayern', 'DE'),
  means('california', 'California', 'US'),
  means('ontario', 'Ontario', 'CA'),
  means('catalonia', 'Catalonia|Catalunya', 'ES'),
  means('england', 'England', 'GB'),
];

const unfinishedOrMisspelled = [
  means('frankf', 'Frankfurt am Main', 'DE'),
  means('barcel', 'Barcelona', 'ES'),
  means('los ang', 'Los Angeles', 'US'),
  means('rio de jan', 'Rio de Janeiro', 'BR'),
  means('san franc', 'San Francisco', 'US', { within: 'US' }),
  means('philadelpia', 'Philadelphia', 'US'),
  means('barselona', 'Barcelona', 'ES'),
  means('san francsico', 'San Francisco', 'US', { within: 'US' }),
  means('stokholm', 'Stockholm', 'SE'),
  means('edinburg', 'Edinburgh', 'GB', { within: 'GB' }),
  means('johanesburg', 'Johannesburg', 'ZA'),
  means('cincinatti', 'Cincinnati', 'US'),
  means('be', 'Beijing', 'CN', { within: 'CN' }),
  means('b', 'Berlin', 'DE', { within: 'DE' }),
  means('m', 'Madrid', 'ES', { within: 'ES' }),
  means('', 'France', 'FR', { within: 'FR' }),
];

export const judgedQueries: readonly Judged[] = [
  ...inEnglish,
  ...withAccentsOrWithout,
  ...withPunctuation,
  ...inTheLocalLanguage,
  ...inOtherScripts,
  ...withARegionOrCountry,
  ...countriesAndRegions,
  ...unfinishedOrMisspelled,
];
