-- The shop's role may make databases, for its tests and for rehearsals of migrations.
CREATE ROLE shop LOGIN CREATEDB PASSWORD 'saffron-otter-41';
CREATE DATABASE shop OWNER shop;
