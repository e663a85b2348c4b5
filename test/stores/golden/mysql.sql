CREATE TABLE `ichido_records` (
  `key` varbinary(1020) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  `tenant` varbinary(1020) DEFAULT NULL,
  `principal` varbinary(1020) DEFAULT NULL,
  `operation` varbinary(1020) NOT NULL,
  `fingerprint_version` int(11) NOT NULL,
  `fingerprint_raw` varbinary(32) NOT NULL,
  `fingerprint_canonical` varbinary(32) NOT NULL,
  `fingerprint_former` varbinary(32) DEFAULT NULL,
  `state` varchar(10) NOT NULL,
  `owner` varbinary(32) NOT NULL,
  `fence` bigint(20) NOT NULL,
  `life` bigint(20) NOT NULL,
  `attempts` int(11) NOT NULL,
  `lease_us` bigint(20) NOT NULL,
  `step_starts` int(11) NOT NULL DEFAULT 0,
  `hold_reason` blob DEFAULT NULL,
  `response_kind` varchar(9) DEFAULT NULL,
  `response_status` smallint(6) DEFAULT NULL,
  `response_bytes` bigint(20) NOT NULL DEFAULT 0,
  `response_headers` mediumblob DEFAULT NULL,
  `response_body` longblob DEFAULT NULL,
  `labels` blob DEFAULT NULL,
  `created_us` bigint(20) NOT NULL,
  `updated_us` bigint(20) NOT NULL,
  `expires_us` bigint(20) NOT NULL,
  `sweep_us` bigint(20) DEFAULT NULL,
  `origin` varchar(9) NOT NULL DEFAULT 'lapsed',
  `doubt_stays` tinyint(4) NOT NULL DEFAULT 1,
  `released_fence` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`key`,`scope_hash`),
  KEY `ichido_records_sweep` (`sweep_us`),
  KEY `ichido_records_state` (`state`,`key`,`scope_hash`,`response_bytes`),
  CONSTRAINT `ichido_records_state` CHECK (`state` in ('processing','completed','failed')),
  CONSTRAINT `ichido_records_kind` CHECK (`response_kind` in ('full','tombstone')),
  CONSTRAINT `ichido_records_answer` CHECK (`state` <> 'completed' or `response_status` is not null)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_labels` (
  `label_hash` binary(32) NOT NULL,
  `key` varbinary(1020) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  PRIMARY KEY (`label_hash`,`key`,`scope_hash`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_steps` (
  `key` varbinary(1020) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  `life` bigint(20) NOT NULL,
  `name` varbinary(1020) NOT NULL,
  `place` int(11) DEFAULT NULL,
  `attempt` int(11) DEFAULT NULL,
  `started_us` bigint(20) DEFAULT NULL,
  `finished_us` bigint(20) DEFAULT NULL,
  `result` longblob DEFAULT NULL,
  `last_started_us` bigint(20) DEFAULT NULL,
  `start_fence` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`key`,`scope_hash`,`life`,`name`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_audit` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `key` varbinary(1020) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  `fence` bigint(20) NOT NULL,
  `actor` varbinary(1020) NOT NULL,
  `action` varchar(16) NOT NULL,
  `reason` blob NOT NULL,
  `at_us` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `ichido_audit_identity` (`key`,`scope_hash`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_clock` (
  `id` tinyint(4) NOT NULL,
  `last_us` bigint(20) NOT NULL,
  `interval_us` bigint(20) NOT NULL,
  `steady_since_us` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `ichido_clock_one` CHECK (`id` = 1)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

CREATE TABLE `ichido_log_pages` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `written_us` bigint(20) NOT NULL,
  `keep_us` bigint(20) NOT NULL,
  `process` varbinary(1020) NOT NULL,
  `intents` mediumblob NOT NULL,
  `notes` mediumblob NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ichido_log_pages_written` (`written_us`),
  KEY `ichido_log_pages_keep` (`keep_us`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_attempts` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `written_us` bigint(20) NOT NULL,
  `key` varbinary(1020) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  `operation` varbinary(1020) NOT NULL,
  `at_us` bigint(20) NOT NULL,
  `took_us` bigint(20) NOT NULL,
  `outcome` varchar(32) NOT NULL,
  `observed` tinyint(4) NOT NULL,
  `status` smallint(6) DEFAULT NULL,
  `attempt` int(11) DEFAULT NULL,
  `fence` bigint(20) DEFAULT NULL,
  `number` bigint(20) NOT NULL,
  `attempts_told` bigint(20) NOT NULL,
  `spread_us` bigint(20) NOT NULL,
  `process` varbinary(1020) NOT NULL,
  `release_name` varbinary(1020) DEFAULT NULL,
  `asked_by` varbinary(1020) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `ichido_attempts_written` (`written_us`),
  KEY `ichido_attempts_identity` (`key`,`scope_hash`,`outcome`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_processes` (
  `owners` varbinary(64) NOT NULL,
  `process` varbinary(1020) NOT NULL,
  `release_name` varbinary(1020) DEFAULT NULL,
  `seen_us` bigint(20) NOT NULL,
  PRIMARY KEY (`owners`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_twins` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `written_us` bigint(20) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  `operation` varbinary(1020) NOT NULL,
  `first_key` varbinary(1020) NOT NULL,
  `second_key` varbinary(1020) NOT NULL,
  `apart_us` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `ichido_twins_first` (`first_key`,`scope_hash`,`second_key`),
  KEY `ichido_twins_second` (`second_key`,`scope_hash`),
  KEY `ichido_twins_written` (`written_us`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_resources` (
  `kind` varbinary(256) NOT NULL,
  `id` varbinary(1020) NOT NULL,
  `key` varbinary(1020) NOT NULL,
  `scope_hash` binary(32) NOT NULL,
  `life` bigint(20) NOT NULL,
  `ordinal` int(11) NOT NULL,
  PRIMARY KEY (`kind`,`id`,`key`,`scope_hash`,`life`),
  KEY `ichido_resources_identity` (`key`,`scope_hash`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE `ichido_log_sweep` (
  `id` tinyint(4) NOT NULL,
  `written_us` bigint(20) NOT NULL,
  `place` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `ichido_log_sweep_one` CHECK (`id` = 1)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

CREATE TABLE `ichido_engines` (
  `engine` varbinary(64) NOT NULL,
  `note` mediumblob NOT NULL,
  `noted_us` bigint(20) NOT NULL,
  PRIMARY KEY (`engine`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;

CREATE TABLE `ichido_migrations` (
  `part` varchar(64) NOT NULL,
  `version` int(11) NOT NULL,
  `name` varchar(200) NOT NULL,
  `checksum` char(64) NOT NULL,
  `applied_us` bigint(20) NOT NULL,
  PRIMARY KEY (`part`,`version`)
) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin;
