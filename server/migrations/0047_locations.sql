-- module: ads
-- The catalogue of locations that ads are shown in. It belongs to the installation, not to a workspace: `plinth migrate` loads
-- the bundled places, `plinth geo import` replaces them by the ad platform's own.

create extension if not exists pg_trgm;

create table locations (
  id bigint primary key,
  -- The region or country that contains it. The platform's file has a few parents that are not in it.
  parent_id bigint,
  -- Empty for what lies in no country.
  country_code text not null check (country_code ~ '^([A-Z]{2})?$'),
  target_type text not null,
  name text not null,
  canonical_name text not null,
  -- How many people live there; 0 if unknown.
  reach bigint not null check (reach >= 0),
  -- For search: without case, accents and punctuation. The path is the canonical name, so it begins with the name.
  folded_name text collate "C" not null,
  folded_path text collate "C" not null,
  -- Abbreviations that people add to a name, such as `tx us`.
  codes text not null,
  check (starts_with(folded_path, folded_name))
);
-- Everything that a search by prefix needs, so that it reads no table rows.
create index locations_by_path on locations (folded_path) include (country_code, reach, id);
create index locations_by_reach on locations (reach desc, id);
create index locations_of_country on locations (country_code, reach desc, id);
create index locations_by_likeness on locations using gin (folded_name gin_trgm_ops);
create index locations_by_path_likeness on locations using gin (folded_path gin_trgm_ops);

-- Names in other languages and scripts, and earlier ones. Country and reach are those of the location.
create table location_names (
  location_id bigint not null,
  folded_name text collate "C" not null,
  country_code text not null,
  reach bigint not null
);
create index location_names_by_name on location_names (folded_name) include (country_code, reach, location_id);

-- What the catalogue was loaded from. One row, or none before the first load.
create table location_catalogue (
  is_only_row boolean primary key default true check (is_only_row),
  source text not null check (source in ('bundled', 'imported')),
  -- Of the bundled places, to see whether a release has others; of an imported file, for the operator.
  checksum text not null,
  location_count integer not null,
  loaded_at timestamptz not null
);
