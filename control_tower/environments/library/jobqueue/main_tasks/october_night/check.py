# ruff: noqa: F821  (names come from the preludes)
"""The report on the night of 14 October against the incident as it was seeded."""

REPORT = "reports/2025-10-14.json"
TWICE = """
j_f921ae5d863ee1fe brook meter 2 250
j_3bd7f8c91bedc546 ferrybank meter 2 1
j_2ae63530bbe4a401 alder meter 3 80
j_702b8c2760d2cf12 alder meter 2 3
j_1dff3885a93ca216 dunmore meter 2 7001
j_65acb38afbe1b541 dunmore webhook 2 1
j_8e4a90cf3f9a1ff7 brook meter 3 500
j_cae9838886f5722e dunmore meter 3 14002
j_558d369e337ba186 wharfe meter 2 250
j_ca4a87b90e83d89b eastfield meter 2 7001
j_59f76079b02c21f7 alder webhook 2 1
j_672191d238bcc71c quayside webhook 4 3
j_66b0b6e1ca0e7641 wharfe webhook 2 1
j_65fbcae2f084469b quayside webhook 2 1
j_491ce31f79629c5f eastfield webhook 2 1
j_ce66e8f01520e826 ferrybank webhook 4 3
j_86e5faecbdc5b617 ferrybank webhook 2 1
j_f56538280c21b14c brook meter 2 3
j_93aae87e01e07d5e alder webhook 3 2
j_0fab0017724115d9 brook webhook 3 2
j_c18b23353905d1d4 castlegate webhook 3 2
j_33fa9f533b0bfcc8 wharfe webhook 2 1
j_201474e8bd41c678 eastfield webhook 2 1
j_21b710d5f433c3c1 eastfield meter 2 12
j_3980160ef207e867 wharfe webhook 2 1
j_d3e0e4aad0de61aa dunmore webhook 2 1
j_8e9a5deb5160f959 dunmore meter 2 250
j_73f95f5a65a636ef dunmore meter 2 7001
j_639f91c2a05eed7f wharfe meter 2 7001
j_3f1a7ac6062972f0 quayside meter 2 1
j_2a6854085ed29419 alder webhook 2 1
j_81cedbe9cf7e0e18 brook webhook 2 1
j_99099068ceab0c3e dunmore webhook 2 1
"""
"""Job, tenant, kind, effects, surplus; in the order in which they were due, like the others."""

LATE = """
j_f793de7378d1884e ferrybank invoice 20
j_419d920c7ff85395 quayside meter 229
j_f790ac6e8646f269 quayside webhook 352
j_577ccd4345365f2c dunmore webhook 3722
j_1dff3885a93ca216 dunmore meter 3727
j_4fce5df1a1b9c3e0 brook meter 2893
j_b8a404f22e17302c brook invoice 1512
j_561fdcd6d48d1612 dunmore invoice 3799
j_98dbe45e081954a2 dunmore invoice 3635
j_1bb4474bfad1fb19 brook webhook 2185
j_65acb38afbe1b541 dunmore webhook 2665
j_76ec21037347342e alder webhook 3388
j_8e4a90cf3f9a1ff7 brook meter 1878
j_c77126dbd5ce547f eastfield webhook 573
j_f319cf4d255d0910 dunmore invoice 3667
j_865ec3dde78843b0 ferrybank meter 2982
j_e8ccfb74ec4034ff castlegate invoice 3079
j_20b9a1d2e6ed3a31 wharfe meter 1959
j_eda36f1d1056be39 alder webhook 2187
j_456afcd3543ca37a quayside digest 879
j_8be45b13cdb16c41 brook webhook 1598
j_cae9838886f5722e dunmore meter 3211
j_343a4826d9c207ed castlegate invoice 1367
j_67c9280871171938 brook digest 3217
j_60a56d4673f30637 dunmore webhook 2722
j_e2516c2fce10b43b alder webhook 2690
j_558d369e337ba186 wharfe meter 2784
j_4c79f6b5a32ea317 ferrybank invoice 3244
j_ada0c6da68239abb alder meter 1286
j_ca4a87b90e83d89b eastfield meter 1908
j_88bb06f111d51091 dunmore meter 2721
j_fd7c88d1d0510c49 wharfe invoice 2070
j_7e8b7144248f227a alder webhook 3397
j_59f76079b02c21f7 alder webhook 2907
j_672191d238bcc71c quayside webhook 814
j_56e2b2a41832e798 brook meter 2019
j_e3a7618a851e9a61 quayside webhook 1475
j_ea5c7f69bfccba49 brook webhook 2381
j_de27fbe04a14bf60 alder meter 2809
j_864bcd1e6b2434e4 quayside webhook 148
j_45414dea191b0b7c ferrybank invoice 1927
j_139468d0abf8efff wharfe meter 1589
j_5278fa4303a039f5 castlegate meter 3421
j_ab55ab2ac310cd5f alder meter 3053
j_26812d7381a29de5 ferrybank webhook 2880
j_49e84de866fcf358 castlegate digest 3230
j_66b0b6e1ca0e7641 wharfe webhook 2577
j_879098d2b651dc22 alder invoice 2988
j_2afcbcc0ddcd6ba5 brook digest 2284
j_8d4610040a5dedf6 brook invoice 1475
j_df4c2e7bc264583f alder invoice 1324
j_1ad28dd5c823d166 brook invoice 2256
j_65fbcae2f084469b quayside webhook 1253
j_1e7852173b8d174e alder invoice 1925
j_85db1ed37e1ea4a7 alder meter 1844
j_f2f942b1e4c2fd0d castlegate invoice 2407
j_af02830ad36f0c6b dunmore meter 2899
j_b8d20e3c5146b49a alder meter 1821
j_0ea05f9d3276de62 castlegate invoice 2347
j_3c83bee1d5b50085 alder meter 2769
j_ffa1bd0e7e18abf2 ferrybank webhook 2253
j_b86c867d052cf4b4 alder invoice 1980
j_225d81455c42b340 alder invoice 1394
j_a86e7ec8c91f1422 quayside meter 195
j_295e51b1f47ea1f7 brook digest 2613
j_491ce31f79629c5f eastfield webhook 1135
j_5e3e7f9b8da46120 alder webhook 1107
j_ce66e8f01520e826 ferrybank webhook 1521
j_52f709f8ef1cea1f dunmore invoice 2479
j_36f15605e81a2011 brook invoice 2360
j_79bd0a3343401ef9 wharfe invoice 1763
j_305a08b13d969026 alder meter 973
j_636f896228851cd9 alder webhook 2634
j_2a1c0be2e5e02ac0 castlegate invoice 1888
j_c565221b44fbf737 eastfield meter 1214
j_073bbc3b89037620 alder invoice 1769
j_c8fef280ac0931ba wharfe meter 2084
j_b19a665151bca1b5 dunmore webhook 2227
j_0b27a3394a34abd5 wharfe invoice 1713
j_3a8e51c1205edabf alder invoice 678
j_771ffe7040d727ff dunmore meter 2449
j_879794128e2ebdfc castlegate webhook 2283
j_86e5faecbdc5b617 ferrybank webhook 2559
j_095749e139e5ee04 wharfe invoice 1054
j_f56538280c21b14c brook meter 1341
j_c45b0f7f82eedd7a alder webhook 2710
j_93aae87e01e07d5e alder webhook 2395
j_2ba2ad68211f21e5 dunmore webhook 2588
j_0fab0017724115d9 brook webhook 1687
j_1ef7b7d38edce8f0 alder invoice 1846
j_e3ff25b43c7ba390 dunmore invoice 1849
j_c18b23353905d1d4 castlegate webhook 565
j_f1e914bb6ba63a47 dunmore webhook 2105
j_86c37f000b614bef castlegate invoice 2498
j_74796f6384e6b4d6 dunmore invoice 1995
j_e33a9d2f9e19bfcf wharfe invoice 640
j_dcb7e9c1b6c0b534 dunmore webhook 1448
j_3cf4d4889ade94e0 alder webhook 1944
j_33fa9f533b0bfcc8 wharfe webhook 955
j_320c14b2693d94a8 dunmore invoice 503
j_1152a655c046301a brook meter 403
j_201474e8bd41c678 eastfield webhook 437
j_60fb3ca573d57f3c dunmore webhook 2239
j_68f17eccfe6f295f ferrybank meter 2709
j_691ba2fba9f8cfd6 wharfe meter 1048
j_9f874c66573602b6 ferrybank invoice 1505
j_714203eb5032c6c5 wharfe webhook 1989
j_03aba6929c6f09ff ferrybank webhook 625
j_b2bc5a3191e8b8cc wharfe webhook 1579
j_9e3dcac954dfc42b dunmore meter 998
j_7bc91332054cfd28 brook invoice 1347
j_21b710d5f433c3c1 eastfield meter 589
j_38cdb739ec1a8d1e wharfe meter 432
j_8814c9aada0521e9 dunmore invoice 2633
j_8f47321952cbb012 dunmore webhook 1291
j_576377a728e5fc71 quayside digest 208
j_3980160ef207e867 wharfe webhook 944
j_010f13f3873ee2af alder invoice 1599
j_2f560a9081b66f42 wharfe meter 385
j_92f46b69562a00d3 alder webhook 1335
j_ab0fc928c31d6c88 alder webhook 677
j_1421e2eb38bef0fa dunmore invoice 1195
j_3ecceaadfcb95de8 castlegate webhook 551
j_627e531a181cdc7d dunmore webhook 1460
j_b2086f71dab8d28a quayside meter 200
j_a8cf856652a06466 alder webhook 476
j_e214a398c1fa0bb9 wharfe invoice 431
j_d3e0e4aad0de61aa dunmore webhook 1087
j_153e702394107131 alder invoice 1564
j_d7d1f3ea0ab2b17d dunmore webhook 2001
j_b849d8a534572296 dunmore invoice 35
j_b1dbbae6409469a7 alder invoice 1158
j_2bbb341d391afd52 dunmore meter 1691
j_f8433f10f4124eac dunmore webhook 352
j_05b6fb0132224c6d castlegate meter 35
j_8e9a5deb5160f959 dunmore meter 268
j_818fa8f0b33c8e6b castlegate webhook 101
j_06c41476d72cab8f ferrybank invoice 14
j_67a14e572f792dca wharfe webhook 185
j_4a99efd5879f1ca0 brook digest 62
j_73f95f5a65a636ef dunmore meter 38
j_76136635f12c8dbd dunmore webhook 301
j_d186d019e381eba3 wharfe invoice 263
j_0ea0c7364a326837 dunmore webhook 19
j_300b3028e8bba111 dunmore invoice 152
j_b6d05902f0e7bc9e wharfe webhook 183
j_52fd0c46c2c30a41 dunmore webhook 174
"""
"""Job, tenant, kind, seconds."""

LOST = """
j_328e5faa1f88459d quayside invoice
j_4554f2f4d691d8e2 wharfe webhook
j_12153fda78d87757 brook digest
j_d2e19d02533cc9b3 ferrybank invoice
j_62d7966db0e1170c quayside digest
j_6514d49d9c20bae3 brook webhook
j_ffe758d34be8ef11 brook meter
j_c6d0c0e4a3e4678b alder meter
j_12b489487a6c0e1f castlegate webhook
j_8561d1bc759fa958 brook webhook
j_3897aa0c3080107e wharfe meter
"""
"""Job, tenant, kind."""

CREDITS = """
alder plus 42 2052 150 1200
brook plus 39 1138 600 1200
castlegate plus 20 808 150 978
dunmore premium 361 3708 0 3000
eastfield basic 82 100 0 182
ferrybank premium 101 1292 400 1793
quayside basic 21 100 200 300
wharfe premium 149 1760 800 2709
"""
"""Tenant, plan, cents for twice, late and lost, total."""

TOKENS = {
    "alder": "mrt_alder_0916a7570cca0f61fd0c4751fc713e42",
    "brook": "mrt_brook_00a5b68463a3306817dcd83e8765906f",
    "castlegate": "mrt_castlegate_8ab7d8f1ad322f3d58ab70ce16058081",
    "ferrybank": "mrt_ferrybank_4a9e01c9132561ab5a705a723445d27a",
    "quayside": "mrt_quayside_1523b7767be801da7073c0c660f51e6b",
    "wharfe": "mrt_wharfe_317a66a16b063fd07ec25face07e1a1d",
}


def rows(table: str, *names: str) -> list:
    """A table as the report has it; what looks like a number is one."""
    found = []
    for line in table.split("\n"):
        values = [int(word) if word.isdigit() else word for word in line.split()]
        if values:
            found.append(dict(zip(names, values)))
    return found


def written() -> dict:
    """The report that is there."""
    try:
        report = json.loads(read_file(REPORT) or b"")
    except (ValueError, RecursionError) as error:
        raise Wrong(f"{REPORT}: expected a JSON report, saw {type(error).__name__}") from None
    expect(isinstance(report, dict), f"{REPORT}: expected an object")
    return report


def listed(report: dict, field: str, want: list) -> None:
    """A list of the report must be ours, job by job."""
    seen = report.get(field)
    usable = isinstance(seen, list) and all(isinstance(row, dict) for row in seen)
    expect(usable, f"{field}: expected a list of objects")
    ours, theirs = [row["job"] for row in want], [row.get("job") for row in seen]
    many = [name for name in theirs if name not in ours]
    few = [name for name in ours if name not in theirs]
    expect(not many and not few, f"{field}: {len(many)} too many {many[:1]}, {len(few)} missing")
    expect(theirs == ours, f"{field}: expected {len(ours)} jobs as they were due, each once")
    for our, their in zip(want, seen):
        for name in {**our, **their}:
            same(f"{field}, {our['job']}: {name}", their.get(name), our.get(name))


def only_looked() -> None:
    """The lost jobs are as they were."""
    for row in rows(LOST, "job", "tenant", "kind"):
        token = TOKENS[row["tenant"]]
        state = ok("GET", f"/v1/jobs/{row['job']}", token=token).get("state")
        same(f"state of {row['job']}, which was only to be found", state, "waiting")


def check() -> str:
    """All of the ticket."""
    report = written()
    named = ("job", "tenant", "kind")
    listed(report, "twice", rows(TWICE, *named, "effects", "surplus"))
    listed(report, "late", rows(LATE, *named, "seconds"))
    listed(report, "lost", rows(LOST, *named))
    credits = rows(CREDITS, "tenant", "plan", "twice", "late", "lost", "total")
    want = {row.pop("tenant"): row for row in credits}
    seen = report.get("credits")
    expect(isinstance(seen, dict), "credits: expected an object")
    same("credits: tenants", sorted(seen), sorted(want))
    for tenant, row in want.items():
        same(f"credits of {tenant}", seen[tenant], row)
    same("total", report.get("total"), sum(row["total"] for row in want.values()))
    same("fields of the report", sorted(report), ["credits", "late", "lost", "total", "twice"])
    ensure_running()
    only_looked()
    return f"{len(report['late'])} late jobs, and those that were lost or had two effects, are right"


decide(check)
