-- The shop's role may make databases, for its tests and for rehearsals of migrations.
-- SCRAM would cost tests and tools, which open many connections, more than all the rest.
SET password_encryption = 'md5';
CREATE ROLE shop LOGIN CREATEDB PASSWORD 'saffron-otter-41';
CREATE DATABASE shop OWNER shop;
