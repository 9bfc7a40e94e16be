"""Whole nights, and single jobs of them."""

from tests.support import RootTest, row

WAREHOUSE = "order_id,at,carrier,parcels,kind\n"


class NightTest(RootTest):
    def test_a_night(self) -> None:
        self.orders(
            "north-20240309-1.csv",
            row(1, "2024-03-09T10:00:00Z", "11,90", partner="harbour"),
            row(2, "2024-03-09T11:00:00Z", "25,00", country="DK"),
            row(3, "2024-03-09T12:00:00Z", "9,99", status="cancelled"),
        )
        self.orders("south-20240309-1.csv", row(4, "2024-03-09T10:00:00Z"))
        self.put("shipments", "wh-20240309.csv", f"{WAREHOUSE}T0001,2024-03-09 15:00,GLP,1,out\n")
        done = self.run_it("bash", "bin/night", "2024-03-09")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            self.out("sales/sales-2024-03-09.csv"),
            "shop;country;orders;gross;net\nnorth;DE;1;11,90;10,00\nnorth;DK;1;25,00;20,00\n"
            "south;DE;1;10,00;8,40\n",
        )
        self.assertEqual(
            self.out("sales/month-2024-03.csv"),
            "shop;orders;gross;net\nnorth;2;36,90;30,00\nsouth;1;10,00;8,40\n",
        )
        self.assertIn("10001;T0001;10,00;1,90;11,90\n", self.out("invoices/invoices-2024-03-09.csv"))
        self.assertIn("T0001;10,00;0,65\n#TOTAL;1;0,65\n", self.out("partners/harbour/settlement-2024-03-09.csv"))
        self.assertEqual(self.mails(), ["ALERT no orders of isles", "Figures of 2024-03-09"])
        self.assertEqual(self.run_it("python3", "bin/verify-night", "2024-03-09").stdout, "ok\n")
        self.assertIn("ok", self.run_it("bash", "bin/check-drop", "harbour").stdout)

    def test_a_file_that_was_here(self) -> None:
        one = row(1, "2024-03-08T10:00:00Z")
        self.orders("north-20240308-1.csv", one)
        self.night("2024-03-08", "collect")
        self.orders("north-20240308-2.csv", one)
        self.night("2024-03-09", "collect")
        self.assertEqual(self.mails(), ["Rejected file north-20240308-2.csv"])

    def test_incomplete_files_are_reported(self) -> None:
        self.put("orders", "south-20240309-1.csv", f"header\n{row(1, '2024-03-09T10:00:00Z')}\n")
        self.night("2024-03-09", "collect", "load-orders", "partner-export", "watch")
        alert = "ALERT incomplete file south-20240309-1.csv, 1 orders loaded"
        self.assertIn(alert, self.mails())
        self.assertIn(alert[6:], self.run_it("bash", "bin/status", "2024-03-09").stdout)

    def test_a_must_ends_the_night(self) -> None:
        jobs = self.root / "jobs"
        jobs.write_text("one  may  false\ntwo  must  false\nthree  must  true\n")
        self.env["BATCH_JOBS"] = str(jobs)
        self.assertEqual(self.run_it("bash", "bin/night", "2024-03-09").returncode, 1)
        self.assertEqual(self.mails(), ["FAILED one, night 2024-03-09", "FAILED two, night 2024-03-09"])

    def test_usage(self) -> None:
        self.assertEqual(self.run_it("bash", "bin/night", "2024-02-30").returncode, 64)

    def test_web_log(self) -> None:
        line = '203.0.113.5 - - [09/Mar/2024:{} +0000] "GET {} HTTP/1.1" 200 500 "-" "Mozilla/5.0"\n'
        hits = (("10:00:00", "/"), ("10:10:00", "/teas/"), ("12:00:00", "/index.html"))
        self.put("weblogs", "north-20240309.log", "".join(line.format(*hit) for hit in hits))
        self.night("2024-03-09", "collect", "weblog")
        figures = self.out("web/web-2024-03-09.csv")
        self.assertIn("visits;2;1;50.0;300.0;1.50\n", figures)
        self.assertIn("page;1;2;66.7;/\npage;2;1;33.3;/teas\n", figures)
