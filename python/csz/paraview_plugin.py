# SPDX-License-Identifier: BSD-3-Clause
"""ParaView's view of csz.vtk.CszReader.  Load this file in ParaView: Tools > Manage Plugins > Load New, or
LoadPlugin of pvpython; `python3 -m csz.paraview_plugin` prints where it is.

ParaView's own Python needs no csz installed: the package that this file lies in is found from here.
"""

import os
import sys

if __name__ == "__main__":
    print(os.path.abspath(__file__))
    sys.exit()

try:
    import csz.vtk
except ImportError:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import csz.vtk

from paraview.util.vtkAlgorithm import smdomain, smhint, smproperty, smproxy


@smproxy.reader(name="CszReader", label="Csz Reader", extensions="csz", file_description="cuSZ+ archives")
class CszReader(csz.vtk.CszReader):
    @smproperty.stringvector(name="FileName", panel_visibility="never")
    @smdomain.filelist()
    @smhint.filechooser(extensions="csz", file_description="cuSZ+ archives")
    def SetFileName(self, name):
        super().SetFileName(None if name == "None" else name)

    @smproperty.intvector(name="Level", default_values=-1)
    def SetLevel(self, level):
        super().SetLevel(level)

    @smproperty.intvector(name="Region", default_values=[0, -1, 0, -1, 0, -1], number_of_elements=6)
    def SetRegion(self, *extent):
        super().SetRegion(*extent)

    @smproperty.intvector(name="MissingAsNaN", label="Missing As NaN", default_values=1)
    @smdomain.xml('<BooleanDomain name="bool"/>')
    def SetMissingAsNaN(self, missing):
        super().SetMissingAsNaN(missing)

    @smproperty.doublevector(name="TimestepValues", information_only="1", si_class="vtkSITimeStepsProperty")
    def GetTimestepValues(self):
        return None  # ParaView takes them from the pipeline
